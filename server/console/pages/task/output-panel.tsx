/**
 * The end of a task's output, followed while the task runs. The page loads this script after all others.
 * Without output the panel shows nothing.
 */
import type { OutputEnd, OutputPiece, Question, RequestId } from '@task-gateway/sdk';
import type { VNode } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useConsole } from '../../gateway/console.ts';
import { formatNumber } from '../../parts/format.ts';
import { JsonTree } from '../../parts/json-tree.tsx';
import { Panel } from '../../parts/panel.tsx';
import { EMPTY_TAIL, extendTail, showOutput, type Tail, type TailBlock } from './output-tail.ts';

/** How often pieces are drawn. A person reads no faster, and the page keeps time for other work. */
const DRAW_EVERY_MS = 100;
/** Within this distance of the end, the panel scrolls with new output. */
const END_PX = 24;

type Reading = { readonly tail: Tail; readonly note: string };

type OutputProps = {
  readonly request_id: RequestId;
  /** Called with the questions that the output leaves open. */
  readonly onQuestions: (open: readonly Question[]) => void;
};

export function OutputPanel({ request_id, onQuestions }: OutputProps): VNode | null {
  const { polling } = useConsole();
  const { tail, note } = useOutput(request_id, polling.isPaused.value);
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  useLayoutEffect(() => {
    if (box.current && isAtEnd.current) box.current.scrollTop = box.current.scrollHeight;
  }, [tail]);
  useEffect(() => onQuestions(tail.open), [tail.open]);
  const missing = tail.end?.missing ?? null;
  if (tail.blocks.length === 0 && missing === null) return null;
  return (
    <Panel
      title="Output"
      note={tail.end ? describeCount(tail.end) : note}
      {...(missing !== null && { footer: MISSING.get(missing) ?? `Pieces are missing: ${missing}.` })}
    >
      <div
        class="output"
        ref={box}
        // `tabIndex` makes the region reachable by keyboard, so that a person can scroll it.
        {...{ tabIndex: 0, role: 'log', 'aria-label': 'Output', 'aria-live': 'off' }}
        onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
          isAtEnd.current = scrollHeight - scrollTop - clientHeight < END_PX;
        }}
      >
        {tail.isCut && <p class="muted">Earlier output is not shown here.</p>}
        {tail.blocks.map((block) => (
          <Block key={block.id} block={block} />
        ))}
      </div>
    </Panel>
  );
}

const MISSING: ReadonlyMap<string, string> = new Map([
  ['truncated', 'Truncated: the agent wrote more than is kept of one task.'],
  ['removed', 'Removed: the output made room for that of later tasks.'],
]);

function describeCount({ n }: OutputEnd): string {
  return n === 2 ? '1 piece' : `${formatNumber(n - 1)} pieces`;
}

function Block({ block }: { readonly block: TailBlock }): VNode {
  const look = block.isVoid ? 'void' : '';
  if (block.kind === 'text') return <div class={look}>{block.text}</div>;
  if (block.kind === 'reset') {
    return (
      <p class="muted">
        {block.agent_id} begins anew: <span class="void">what is above</span> no longer counts.
      </p>
    );
  }
  if (block.kind === 'question') return <div class={look}>Asks: {block.prompt}</div>;
  return (
    <div class={look}>
      {block.kind === 'answer' && <>Answered {showOutput(block.given.key)}: </>}
      <JsonTree value={block.kind === 'answer' ? block.given.answer : block.data} isOpen={false} />
    </div>
  );
}

/** Follows the output while the component is shown and the console is not paused. */
function useOutput(request_id: RequestId, isPaused: boolean): Reading {
  const { client } = useConsole();
  const [tail, setTail] = useState(EMPTY_TAIL);
  const [note, setNote] = useState('');
  const latest = useRef(EMPTY_TAIL);
  useEffect(() => {
    if (isPaused || latest.current.end) return;
    const reading = client.sdk.readOutput(request_id, {
      after: latest.current.last,
      onNotice: ({ kind }) => setNote(kind === 'down' ? 'the connection is lost, tries again' : 'follows'),
    });
    const draw = createDrawing((pieces) => {
      latest.current = extendTail(latest.current, pieces);
      setTail(latest.current);
    });
    void (async () => {
      try {
        for await (const piece of reading) draw.add(piece);
      } catch (error) {
        setNote(`could not be read: ${error instanceof Error ? error.message : error}`);
      }
      draw.flush();
    })();
    return () => {
      reading.close();
      draw.flush();
    };
  }, [client, request_id, isPaused]);
  return { tail, note: isPaused ? 'paused' : note };
}

/** Collects pieces, and draws those of each `DRAW_EVERY_MS` together, in a frame. */
function createDrawing(draw: (pieces: readonly OutputPiece[]) => void) {
  let waiting: OutputPiece[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    if (waiting.length > 0) draw(waiting);
    waiting = [];
  }
  return {
    add(piece: OutputPiece): void {
      waiting.push(piece);
      timer ??= setTimeout(() => requestAnimationFrame(flush), DRAW_EVERY_MS);
    },
    flush,
  };
}
