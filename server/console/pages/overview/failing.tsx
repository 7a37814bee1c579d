/** The causes of most recent failures, beside the present problems. */
import type { VNode } from 'preact';
import type { GatewayOverview } from '../../gateway/shapes.ts';
import { formatAge, formatNumber } from '../../parts/format.ts';
import { Panel } from '../../parts/panel.tsx';
import { hrefOf } from '../../routing/routes.ts';
import { FAILED_OUTCOMES, FailureTable } from './failure-table.tsx';

const SHOWN_MAX = 6;

type Props = { readonly overview: GatewayOverview; readonly now: number };

/** Draws the panel; nothing if no task failed. */
export function FailingPanel({ overview, now }: Props): VNode | null {
  const { failures, window: span } = overview;
  const { groups, groups_total, failed, ended, since } = failures;
  if (failed === 0) return null;
  const minutes = Math.round(span / 60);
  const search = `?outcome=${FAILED_OUTCOMES}&ended=${minutes}m`;
  const shown = groups.slice(0, SHOWN_MAX);
  const all = (
    <a class="link muted" href={hrefOf({ page: 'tasks' }, search)}>
      All {formatNumber(failed)}
    </a>
  );
  const note =
    since === null
      ? `${formatNumber(failed)} of ${formatNumber(ended)} in ${minutes} min`
      : `${formatNumber(failed)} of the last 500 that ended, in ${formatAge(now - since)}`;
  return (
    <Panel
      title="Who fails"
      id="failing"
      note={note}
      right={all}
      {...(groups_total > shown.length && {
        footer: (
          <a class="link" href={hrefOf({ page: 'tasks' }, `${search}&by=cause`)}>
            All {formatNumber(groups_total)} causes
          </a>
        ),
      })}
    >
      <FailureTable groups={shown} window={span} now={now} />
    </Panel>
  );
}
