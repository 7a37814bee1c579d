/** Whether a task with these tags would run now. The gateway is asked as tags change, and every 2 s. */
import type { MatchPreview } from '@task-gateway/sdk';
import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useConsole, useWatch } from '../../gateway/console.ts';
import { CodedText } from '../../parts/coded-text.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Panel } from '../../parts/panel.tsx';
import { PartFailed } from '../../parts/part-failed.tsx';
import { MatchTable } from '../task/match-table.tsx';

export type WouldItRunProps = {
  /** At most 64, as the contract says. */
  readonly tags: readonly string[];
  /** Seconds that the task may wait for an agent; 0 if it may not. */
  readonly waitSeconds: number;
};

export function WouldItRun({ tags, waitSeconds }: WouldItRunProps): VNode {
  const { client } = useConsole();
  const key = useSteady(JSON.stringify(tags), 250);
  const watch = useWatch(`match ${key}`, async (_etag, signal) => {
    const task_tags: readonly string[] = JSON.parse(key);
    return { value: await client.sdk.previewMatch({ task_tags }, { signal }), etag: null };
  });
  const preview = watch.value.value;
  const failure = watch.failure.value;
  return (
    <Panel title="Would it run now?" note="asked again as you type">
      {failure && <PartFailed what="the match" failure={failure} />}
      {!failure && (
        <div class="in would-run">
          {preview ? <Verdict preview={preview} waitSeconds={waitSeconds} /> : <p class="hint muted">…</p>}
        </div>
      )}
      {preview && <MatchTable match={preview.match} isShort />}
    </Panel>
  );
}

/** Returns the text once it has not changed for a while. */
function useSteady(text: string, afterMs: number): string {
  const [steady, setSteady] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSteady(text), afterMs);
    return () => clearTimeout(timer);
  }, [text, afterMs]);
  return steady;
}

function Verdict({
  preview,
  waitSeconds,
}: {
  readonly preview: MatchPreview;
  readonly waitSeconds: number;
}): VNode {
  const eligible = preview.match.agents.filter((agent) => agent.eligible);
  const free = eligible.find(({ push_failing }) => !push_failing);
  if (!free && eligible[0]) {
    return (
      <p class="hint">
        <span class="verdict t-bad">
          <Icon name="alert" />
          It would be assigned, but not taken:
        </span>{' '}
        <CodedText text={preview.hint ?? `pushes to \`${eligible[0].agent_id}\` fail.`} />
      </p>
    );
  }
  if (free) {
    return (
      <p class="hint">
        <span class="verdict t-ok">
          <Icon name="check" />
          Yes, at once:
        </span>{' '}
        <code>{free.agent_id}</code> has a free slot.
      </p>
    );
  }
  const mayWait = waitSeconds > 0;
  return (
    <p class="hint">
      <span class={mayWait ? 'verdict t-wait' : 'verdict t-bad'}>
        <Icon name={mayWait ? 'pending' : 'no_agent'} />
        {mayWait ? 'No, it would wait:' : 'No, it would fail at once:'}
      </span>{' '}
      <CodedText text={preview.hint ?? 'no agent qualifies.'} />
    </p>
  );
}
