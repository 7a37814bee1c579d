/**
 * The buttons above the list of tasks: which of the six groups a filter shows, the filter that shows some
 * groups, and how many tasks each group has. Pure.
 *
 *   waiting     waits for an agent, also after one did not take it     `waiting=true`
 *   running     is assigned to an agent                                `status=running&waiting=false`
 *   success     succeeded                                              `status=success`
 *   failed      its agent reported it, it took too long or was lost     `outcome=failed,timeout,agent_lost`
 *   no_agent    found no agent                                         `outcome=no_agent`
 *   cancelled   was cancelled                                          `outcome=cancelled`
 */
import { addToken, readValue, removeToken, type Token } from '../../routing/filter.ts';

export type TaskSegment = 'waiting' | 'running' | 'success' | 'failed' | 'no_agent' | 'cancelled';

const SEGMENTS: readonly TaskSegment[] = ['waiting', 'running', 'success', 'failed', 'no_agent', 'cancelled'];
/** The status and the outcomes of each group of ended tasks. */
const ENDED = {
  success: { status: 'success', outcomes: ['success'] },
  failed: { status: 'failed', outcomes: ['failed', 'timeout', 'agent_lost'] },
  no_agent: { status: 'failed', outcomes: ['no_agent'] },
  cancelled: { status: 'failed', outcomes: ['cancelled'] },
} as const;

/** The counts that the buttons show, as `listTasks` returns them. */
export type SegmentCounts = {
  readonly waiting: number;
  readonly by_status: Readonly<Record<'pending' | 'running' | 'success' | 'failed', number>>;
  readonly by_outcome: Readonly<Record<'cancelled' | 'no_agent', number>>;
};

/** How many tasks a button adds. */
export function countSegment({ waiting, by_status, by_outcome }: SegmentCounts, name: TaskSegment): number {
  switch (name) {
    case 'waiting':
      return waiting;
    case 'running':
      return Math.max(by_status.pending + by_status.running - waiting, 0);
    case 'success':
      return by_status.success;
    case 'failed':
      return Math.max(by_status.failed - by_outcome.cancelled - by_outcome.no_agent, 0);
    case 'no_agent':
    case 'cancelled':
      return by_outcome[name];
  }
}

/** The groups of which a filter shows tasks. */
export function readSegments(tokens: readonly Token[]): readonly TaskSegment[] {
  const statuses = readValue(tokens, 'status')?.split(',') ?? null;
  const outcomes = readValue(tokens, 'outcome')?.split(',') ?? null;
  const waiting = readValue(tokens, 'waiting');
  const hasStatus = (status: string): boolean => statuses?.includes(status) ?? true;
  const hasEnded = (name: keyof typeof ENDED): boolean => {
    const some: readonly string[] = ENDED[name].outcomes;
    const isAsked = outcomes?.some((one) => some.includes(one)) ?? true;
    return waiting !== 'true' && hasStatus(ENDED[name].status) && isAsked;
  };
  const isShown: Readonly<Record<TaskSegment, boolean>> = {
    waiting: outcomes === null && waiting !== 'false' && (waiting === 'true' || hasStatus('pending')),
    running: outcomes === null && waiting !== 'true' && hasStatus('running'),
    success: hasEnded('success'),
    failed: hasEnded('failed'),
    no_agent: hasEnded('no_agent'),
    cancelled: hasEnded('cancelled'),
  };
  // Tasks that wait for an answer are running.
  const isAsking = readValue(tokens, 'waiting_for_answer') === 'true';
  return SEGMENTS.filter((name) => isShown[name] && (name === 'running' || !isAsking));
}

/**
 * The filter after a press of a button. Without a filter all groups are shown, so the first press shows that
 * group alone. All groups or no group is no filter. Groups that one filter cannot combine, such as waiting
 * and failed, are not combined: the pressed group is shown alone.
 */
export function toggleSegment(tokens: readonly Token[], name: TaskSegment): readonly Token[] {
  const shown = readSegments(tokens);
  if (shown.length === SEGMENTS.length) return writeSegments(tokens, [name]) ?? tokens;
  const isOff = shown.includes(name);
  const next = SEGMENTS.filter((one) => (one === name) !== shown.includes(one));
  const ended = next.filter((one) => one !== 'waiting' && one !== 'running');
  return writeSegments(tokens, next) ?? writeSegments(tokens, isOff ? ended : [name]) ?? tokens;
}

/** Writes a filter for exactly these groups; null if there is no such filter. */
function writeSegments(tokens: readonly Token[], chosen: readonly TaskSegment[]): readonly Token[] | null {
  const found = writeFilter(chosen);
  if (found === null) return null;
  const others = removeToken(tokens, 'waiting_for_answer');
  return (['status', 'outcome', 'waiting'] as const).reduce<readonly Token[]>((all, key) => {
    const value = found[key];
    return value === undefined ? removeToken(all, key) : addToken(all, { key, value });
  }, others);
}

type SegmentFilter = { readonly status?: string; readonly outcome?: string; readonly waiting?: string };

function writeFilter(chosen: readonly TaskSegment[]): SegmentFilter | null {
  const [waits, runs, succeeds, fails, unmatched, cancels] = SEGMENTS.map((name) => chosen.includes(name));
  if (chosen.length === 0 || chosen.length === SEGMENTS.length) return {};
  if (waits && !runs) return chosen.length === 1 ? { waiting: 'true' } : null;
  if (fails !== cancels || fails !== unmatched) {
    // These groups differ only in their outcomes, which an open task does not have.
    if (runs) return null;
    const outcomes = (['success', 'failed', 'no_agent', 'cancelled'] as const)
      .filter((name) => chosen.includes(name))
      .flatMap((name) => ENDED[name].outcomes);
    return { outcome: outcomes.join(',') };
  }
  const statuses = [
    ...(waits ? ['pending'] : []),
    ...(runs ? ['running'] : []),
    ...(succeeds ? ['success'] : []),
    ...(fails ? ['failed'] : []),
  ];
  return { status: statuses.join(','), ...(runs && !waits && { waiting: 'false' }) };
}
