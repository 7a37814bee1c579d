/** An agent's slots as boxes: used, free, loaded from elsewhere, not taken, or not eligible. */
import type { VNode } from 'preact';
import { formatNumber } from './format.ts';

/** The fields of an agent that describe its slots. A row of the agents has all of them. */
export type SlotsAgent = {
  readonly state: string;
  readonly full: boolean;
  readonly max_concurrent: number;
  readonly running: number;
  readonly current_load: number;
  /** How many of its tasks the agent has not taken. Default: 0. */
  readonly unacknowledged?: number;
  /** Whether its pushes fail, so that tasks that it has not taken are in danger. */
  readonly isFailing?: boolean;
};

/** `busy`: a task, `risk`: one not taken, `ext`: load from elsewhere, `shut`: free, but not eligible. */
export type SlotKind = 'busy' | 'risk' | 'ext' | 'shut' | 'free';

const BOXES_MAX = 24;
const BAR_PX = 120;
/** How much width a bar has for each box that it stands for. */
const BAR_BOX_PX = 10;
const TITLES: Readonly<Record<SlotKind, string>> = {
  busy: 'a task',
  risk: 'a task that was not taken',
  ext: 'load from elsewhere',
  shut: 'free, but not eligible',
  free: 'free',
};

/** Counts the slots of each kind, in the order in which they are drawn. */
export function countSlots(
  agent: SlotsAgent,
): readonly { readonly kind: SlotKind; readonly count: number }[] {
  const { max_concurrent, running, current_load, unacknowledged = 0, isFailing = false, state } = agent;
  const used = Math.min(running, max_concurrent);
  const risk = isFailing ? Math.min(unacknowledged, used) : 0;
  const elsewhere = Math.max(0, Math.min(current_load, max_concurrent) - used);
  const free = Math.max(0, max_concurrent - used - elsewhere);
  const isShut = state === 'offline' || state === 'draining';
  return [
    { kind: 'risk', count: risk },
    { kind: 'busy', count: used - risk },
    { kind: 'ext', count: elsewhere },
    { kind: isShut ? 'shut' : 'free', count: free },
  ];
}

export type SlotsProps = {
  readonly agent: SlotsAgent;
  /** From how many slots on one bar is drawn instead of boxes. Default: 24. */
  readonly boxesMax?: number;
};

/** Draws `4 of 6` and the boxes, or one bar for many slots. */
export function Slots({ agent, boxesMax = BOXES_MAX }: SlotsProps): VNode {
  const { max_concurrent, current_load, full, state } = agent;
  const isFull = full && state !== 'offline';
  const text = `${formatNumber(current_load)} of ${formatNumber(max_concurrent)}`;
  const counts = countSlots(agent);
  return (
    <span class="slotcell">
      <span class={isFull ? 'n t-wait b' : 'n'}>
        {text}
        {isFull && <span class="vh">, full</span>}
      </span>
      <span class="slots" role="img" aria-label={`${text} slots used${describeRisk(counts)}`}>
        {max_concurrent > boxesMax ? (
          <SlotsBar
            {...{ counts }}
            total={max_concurrent}
            widthPx={Math.min(BAR_PX, boxesMax * BAR_BOX_PX)}
          />
        ) : (
          drawBoxes(counts)
        )}
      </span>
    </span>
  );
}

type Counts = ReturnType<typeof countSlots>;

function describeRisk(counts: Counts): string {
  const risk = counts.find(({ kind }) => kind === 'risk')?.count ?? 0;
  return risk > 0 ? `, ${risk} not taken` : '';
}

function drawBoxes(counts: Counts): readonly VNode[] {
  return counts.flatMap(({ kind, count }) =>
    Array.from({ length: count }, (_, index) => (
      <span key={`${kind}${index}`} class={`slot ${kind}`} title={TITLES[kind]} />
    )),
  );
}

type SlotsBarProps = { readonly counts: Counts; readonly total: number; readonly widthPx: number };

function SlotsBar({ counts, total, widthPx }: SlotsBarProps): VNode {
  const innerPx = widthPx - 1;
  let from = 0;
  return (
    <svg class="slotbar" width={widthPx} height="14" aria-hidden="true">
      {counts.map(({ kind, count }) => {
        const x = from;
        from += (count / total) * innerPx;
        return (
          <rect key={kind} class={kind} x={x + 0.5} y="0.5" width={(count / total) * innerPx} height="13">
            <title>{`${formatNumber(count)} ${TITLES[kind]}`}</title>
          </rect>
        );
      })}
    </svg>
  );
}

const LEGEND: readonly (readonly [SlotKind, string])[] = [
  ['busy', 'a task'],
  ['free', 'free'],
  ['ext', 'load from elsewhere'],
  ['risk', 'assigned, not taken'],
  ['shut', 'free, but not eligible'],
];

export function SlotsLegend(): VNode {
  return (
    <span class="legend">
      {LEGEND.map(([kind, text]) => (
        <span key={kind}>
          <span class={`slot ${kind}`} />
          {text}
        </span>
      ))}
    </span>
  );
}
