/** The five counters of the Overview. Each number links to its tasks, or to the causes. */
import type { VNode } from 'preact';
import type { GatewayOverview } from '../../gateway/shapes.ts';
import { formatAge, formatDuration, formatNumber } from '../../parts/format.ts';
import { hrefOf } from '../../routing/routes.ts';
import { FAILED_OUTCOMES } from './failure-table.tsx';
import { Sparkline } from './sparkline.tsx';

type Props = {
  readonly overview: GatewayOverview;
  /** The time that ages are counted to, in epoch seconds. */
  readonly now: number;
};

export function Counters({ overview, now }: Props): VNode {
  const { tasks, slots, ended, failures, series, window: span, median_seconds } = overview;
  const minutes = Math.round(span / 60);
  const inWindow = `ended=${minutes}m`;
  return (
    <dl class="panel counters" aria-label={`Counters, last ${minutes} minutes`}>
      <Counter label="Waiting for an agent" value={tasks.waiting} search="?waiting=true">
        <Sparkline values={series.waiting} tone={tasks.waiting > 0 ? 'wait' : undefined} />
        {describeOldest(overview, now)}
      </Counter>
      <Counter label="Running" value={tasks.running} search="?status=running&waiting=false">
        <Sparkline values={series.running} />
        {describeSlots(slots)}
      </Counter>
      <Counter
        label={`Succeeded in ${minutes} min`}
        value={ended.success}
        search={`?outcome=success&${inWindow}`}
      >
        <Sparkline values={series.success} />
        {describeSpeed(ended.success, minutes, median_seconds)}
      </Counter>
      <Counter
        label={`Failed in ${minutes} min`}
        value={failures.failed}
        href={failures.failed > 0 ? `${hrefOf({ page: 'overview' })}#failing` : undefined}
        search={`?outcome=${FAILED_OUTCOMES}&${inWindow}`}
      >
        <Sparkline values={series.failed} tone={failures.failed > 0 ? 'bad' : undefined} />
        {describeFailed(overview)}
      </Counter>
      <Counter
        label={`Found no agent in ${minutes} min`}
        value={ended.no_agent}
        search={`?outcome=no_agent&${inWindow}`}
      >
        <Sparkline values={series.no_agent} tone={ended.no_agent > 0 ? 'bad' : undefined} />
        {describeMissed(overview)}
      </Counter>
    </dl>
  );
}

type CounterProps = {
  readonly label: string;
  readonly value: number;
  readonly search: string;
  /** The link, if it does not lead to the tasks. */
  readonly href?: string | undefined;
  /** The line and the note below. */
  readonly children: readonly [VNode, string];
};

function Counter({ label, value, search, href, children: [line, note] }: CounterProps): VNode {
  return (
    <div class="counter">
      <dt>{label}</dt>
      <dd class="v">
        <a href={href ?? hrefOf({ page: 'tasks' }, search)}>{formatNumber(value)}</a>
      </dd>
      <dd class="s">{line}</dd>
      <dd class="n" title={note}>
        {note}
      </dd>
    </div>
  );
}

/** Writes `45 of 67 slots used, 4 unusable`. */
function describeSlots({ used, free, unusable }: GatewayOverview['slots']): string {
  const all = `${formatNumber(used)} of ${formatNumber(used + free)} slots used`;
  return unusable > 0 ? `${all}, ${formatNumber(unusable)} unusable` : all;
}

function describeFailed({ ended, failures }: GatewayOverview): string {
  if (failures.failed === 0) return 'none';
  if (failures.since !== null) return 'of the last 500 that ended';
  return `${formatNumber(ended.failed)} reported, ${formatNumber(ended.timeout)} timed out, ${formatNumber(ended.agent_lost)} lost`;
}

function describeOldest({ oldest_waiting }: GatewayOverview, now: number): string {
  const [oldest] = oldest_waiting;
  return oldest ? `oldest ${formatAge(now - oldest.create_time)}` : 'none waits';
}

function describeSpeed(succeeded: number, minutes: number, median: number | null): string {
  if (succeeded === 0) return 'none';
  const rate = succeeded / minutes;
  const each = rate >= 1 ? `${formatNumber(Math.round(rate))} a minute` : `${succeeded} in ${minutes} min`;
  return median === null ? each : `${each}, half within ${formatDuration(median)}`;
}

function describeMissed({ ended, tags }: GatewayOverview): string {
  if (ended.no_agent === 0) return 'none';
  const most = tags.reduce<GatewayOverview['tags'][number] | undefined>(
    (best, tag) => (tag.no_agent > (best?.no_agent ?? 0) ? tag : best),
    undefined,
  );
  return most
    ? `${formatNumber(most.no_agent)} of them wanted ${most.tag}`
    : 'of tags that are no longer used';
}
