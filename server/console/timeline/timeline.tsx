/**
 * A task's time as a drawing: a lane for each agent, bars for waiting, not taken and running, and marks for
 * what happened. Screen readers skip it, because the table below has the same, exactly. Marks that are too
 * near to each other become one button, which lists them.
 */
import type { VNode } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { formatDuration } from '../parts/format.ts';
import { Icon } from '../parts/icon.tsx';
import { CutMiddle } from '../parts/task-id.tsx';
import { describeEvent } from './event-kinds.ts';
import { type BarLabel, type MarkLabel, placeBarLabels, placeMarkLabels } from './labels.ts';
import { type Bar, type Drawing, groupMarks, type Lane, type MarkGroup } from './lanes.ts';
import { CUT_PX, type Cut, createScale, type Scale } from './scale.ts';
import { formatOffset, formatTick } from './time-words.ts';

export type TimelineProps = {
  readonly drawing: Drawing;
  /** Seconds at the right edge; for an open task, beyond now. */
  readonly end: number;
  /** Whether the task is open, so that its last bar still grows. */
  readonly isOpen: boolean;
};

const WIDTH_BEFORE_MEASURED = 600;

/** Draws the timeline, anew when its width changes. */
export function Timeline({ drawing, end, isOpen }: TimelineProps): VNode {
  const axis = useRef<HTMLDivElement>(null);
  const [widthPx, setWidthPx] = useState(WIDTH_BEFORE_MEASURED);
  useLayoutEffect(() => {
    const element = axis.current;
    if (!element) return;
    const measure = (): void => setWidthPx(Math.max(element.clientWidth, 120));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const { moments, waits } = drawing;
  const scale = createScale(end, { moments: [...moments, drawing.end], waits }, widthPx);
  return (
    <div class="tl">
      {drawing.lanes.map((lane) => (
        <LaneRow key={lane.agent_id ?? ''} lane={lane} scale={scale} openEnd={isOpen ? drawing.end : null} />
      ))}
      <div class="axis-name" />
      <div class="axis" ref={axis}>
        <svg class="g" aria-hidden="true">
          {scale.ticks.map((tick, index) => (
            <text
              key={tick}
              class="ax"
              x={scale.toPx(tick)}
              y="12"
              text-anchor={index === 0 ? 'start' : index === scale.ticks.length - 1 ? 'end' : 'middle'}
            >
              {formatTick(tick)}
            </text>
          ))}
        </svg>
      </div>
      {scale.cuts.length > 0 && (
        <p class="axis-note">Not to scale: waiting is cut out of the drawing, with its length in the gap.</p>
      )}
    </div>
  );
}

type LaneRowProps = { readonly lane: Lane; readonly scale: Scale; readonly openEnd: number | null };

function LaneRow({ lane, scale, openEnd }: LaneRowProps): VNode {
  const groups = groupMarks(lane.marks, scale.toPx);
  const labels = placeBarLabels(lane.bars, groups, scale, openEnd);
  const markLabels = placeMarkLabels(groups, labels, scale);
  return (
    <>
      <div class="lane-name">
        {lane.agent_id === null ? (
          <>
            <Icon name="pending" />
            No agent yet
          </>
        ) : (
          <span class="mono mid-wrap">
            <CutMiddle text={lane.agent_id} />
          </span>
        )}
      </div>
      <div class="lane">
        <svg class="g" aria-hidden="true">
          {scale.ticks.map((tick) => (
            <line key={tick} class="grid" x1={scale.toPx(tick)} x2={scale.toPx(tick)} y1="0" y2="34" />
          ))}
          <line class="base" x1="0" x2="100%" y1="17" y2="17" stroke-dasharray="1 4" />
          {lane.bars.map((bar) => (
            <BarShape key={bar.from} bar={bar} scale={scale} />
          ))}
          {scale.cuts.map((cut) => (
            <CutShape key={cut.from} cut={cut} bars={lane.bars} scale={scale} />
          ))}
          {labels.map(drawBarLabel)}
          {groups.map((group) => (
            <GroupShape key={group.px} group={group} label={markLabels.get(group)} />
          ))}
        </svg>
        {groups.map((group) => (
          <GroupButton key={group.px} group={group} />
        ))}
      </div>
    </>
  );
}

const BAR_MIN_PX = 2;
/** Bars that do not run are hatched. The hatching of silence has another direction than that of a wait. */
const HATCHINGS: ReadonlyMap<Bar['kind'], string> = new Map([
  ['wait', 'wait'],
  ['bad', 'bad'],
  ['silent', 'fail'],
]);

function BarShape({ bar, scale }: { readonly bar: Bar; readonly scale: Scale }): VNode {
  const x = scale.toPx(bar.from);
  const width = Math.max(scale.toPx(bar.to) - x, BAR_MIN_PX);
  const hatching = HATCHINGS.get(bar.kind);
  const fill = hatching === undefined ? {} : { fill: `url(#h-${hatching})` };
  return <rect class={`bar-${bar.kind}`} {...{ x, width, ...fill }} y="8.5" height="17" rx="3" />;
}

/** The zigzag edges of a cut, `CUT_PX` apart. */
const CUT_EDGES = 'M-38-12l-5 4 5 4-5 4 5 4-5 4 5 4M38-12l-5 4 5 4-5 4 5 4-5 4 5 4';
const CUT_GROUND = 'M-38-12h76l-5 4 5 4-5 4 5 4-5 4 5 4h-76l-5-4 5-4-5-4 5-4-5-4z';

type CutShapeProps = { readonly cut: Cut; readonly bars: readonly Bar[]; readonly scale: Scale };

/** Draws a gap in the bars that go through a cut, with the true length of the cut. */
function CutShape({ cut, bars, scale }: CutShapeProps): VNode | null {
  if (!bars.some(({ from, to }) => from <= cut.from && to >= cut.to)) return null;
  return (
    <g transform={`translate(${scale.toPx(cut.from) + CUT_PX / 2} 17)`}>
      <path class="brk" d={CUT_GROUND} />
      <path class="brkl" d={CUT_EDGES} />
      <text text-anchor="middle" y="4">
        {formatDuration(cut.to - cut.from)}
      </text>
    </g>
  );
}

function drawBarLabel({ text, x }: BarLabel): VNode {
  return (
    <text key={x} class="halo" x={x} y="21">
      {text}
    </text>
  );
}

type GroupShapeProps = {
  readonly group: MarkGroup;
  readonly label: MarkLabel | undefined;
};

function GroupShape({ group, label }: GroupShapeProps): VNode {
  const { px, marks, count, tone } = group;
  const [mark] = marks;
  const event = mark?.entry.event ?? '';
  return (
    <g transform={`translate(${px} 17)`}>
      {count > 1 ? (
        <>
          <circle class={`m m-${tone}`} r="8" />
          <text class="ct" text-anchor="middle" y="3.6">
            {count > 99 ? '99+' : count}
          </text>
        </>
      ) : (
        <MarkShape event={event} tone={tone} />
      )}
      {label && (
        <text class="halo opt" x={label.anchor === 'start' ? 9 : -9} y="4" text-anchor={label.anchor}>
          {label.text}
        </text>
      )}
    </g>
  );
}

function MarkShape({ event, tone }: { readonly event: string; readonly tone: string }): VNode {
  if (event === 'push_not_taken') return <path class="x" d="M-4-4 4 4M4-4-4 4" />;
  if (event === 'progress') return <circle class="m m-run" r="4.5" />;
  const isBad = ['failed', 'no_agent', 'timeout', 'agent_lost'].includes(event);
  if (event !== 'success' && event !== 'cancelled' && !isBad) return <circle class={`m m-${tone}`} r="5" />;
  const sign = isBad
    ? 'M-2.8-2.8 2.8 2.8M2.8-2.8-2.8 2.8'
    : event === 'success'
      ? 'm-3.4.3 2.3 2.3 4.4-4.9'
      : 'M-3 0h6';
  return (
    <>
      <circle class={`m m-${tone}`} r="8" />
      <path class="mk" d={sign} />
    </>
  );
}

/** A button that lists the marks of a group when pressed. */
function GroupButton({ group }: { readonly group: MarkGroup }): VNode {
  const [isOpen, setOpen] = useState(false);
  return (
    <span class="marks" style={{ left: `${group.px}px` }} onFocusOut={() => setOpen(false)}>
      <button
        type="button"
        aria-expanded={isOpen}
        aria-label={group.count === 1 ? '1 event, name it' : `${group.count} events, list them`}
        title={group.marks
          .map(({ at, entry }) => `${formatOffset(at)} ${describeEvent(entry.event).title}`)
          .join('\n')}
        // A single mark is no tab stop, because the table names it.
        tabIndex={group.marks.length > 1 ? 0 : -1}
        onClick={() => setOpen(!isOpen)}
        onKeyDown={(event) => {
          if (event.key !== 'Escape' || !isOpen) return;
          event.preventDefault();
          setOpen(false);
        }}
      />
      {isOpen && (
        <ul class="marks-list">
          {group.marks.map(({ at, entry, count }) => (
            <li key={`${at}${entry.event}${count}`}>
              <span class="mono">{formatOffset(at)}</span> {describeEvent(entry.event).title}
              {count > 1 && ` × ${count}`}
            </li>
          ))}
        </ul>
      )}
    </span>
  );
}
