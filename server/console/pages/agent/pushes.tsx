/** The last pushes to an agent: are they taken, and if not, since when and why? */
import type { VNode } from 'preact';
import type { AgentDetail, AgentPush } from '../../gateway/shapes.ts';
import { formatAge, formatAgo, formatClock, formatDuration, formatNumber } from '../../parts/format.ts';
import { Icon } from '../../parts/icon.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Cell, type Column, Row, Table } from '../../parts/table.tsx';
import { adviseOnPush, foldAttempts, PULL } from './push-text.ts';

const COLUMNS: readonly Column[] = [
  { head: 'When', width: 116 },
  { head: 'Answer' },
  { head: 'Took', width: 72, isNumber: true },
];

type Props = { readonly agent: AgentDetail; readonly now: number };

export function PushPanel({ agent, now }: Props): VNode {
  const { endpoint, pushes } = agent;
  if (endpoint === PULL) {
    return (
      <Panel title="Last push">
        <div class="in">
          <p class="muted">Nothing is pushed to this agent: it fetches its tasks itself.</p>
        </div>
      </Panel>
    );
  }
  return (
    <Panel title="Last push" note="as this gateway saw it">
      <div class="in">
        <Summary agent={agent} now={now} />
      </div>
      {pushes.length > 0 && (
        <Table columns={COLUMNS} isStackable={false} label="Last pushes">
          {foldAttempts(pushes).map(({ attempt, count }) => (
            <Row key={`${attempt.time} ${attempt.request_id}`}>
              <Cell class="nowrap">{formatAgo(now - attempt.time)}</Cell>
              <Cell>
                <Attempt attempt={attempt} />
                {count > 1 && (
                  <b class={attempt.outcome === 'not_taken' ? 't-bad' : ''}> × {formatNumber(count)}</b>
                )}
              </Cell>
              <Cell class="num muted nowrap">{formatDuration(attempt.ms / 1000)}</Cell>
            </Row>
          ))}
        </Table>
      )}
    </Panel>
  );
}

/** Draws `Connection refused, 41 times in a row, since 00:06:15.` and what helps. */
function Summary({ agent, now }: Props): VNode {
  const { push, unacknowledged } = agent;
  const { failures, failing_since, last_error, last_status, next_attempt_time } = push;
  if (failures === 0 && last_error === null) {
    const text = last_status === null ? 'Nothing was pushed to it yet.' : 'Pushes are taken.';
    return <p class={last_status === null ? 'muted' : 'hint'}>{text}</p>;
  }
  const error = last_error ?? `HTTP ${last_status}`;
  const times = failures === 1 ? 'once' : `${formatNumber(failures)} times in a row`;
  const isBusy = failures === 0;
  return (
    <>
      <p class={isBusy ? 'hint t-wait' : 'hint'}>
        {error.charAt(0).toUpperCase()}
        {error.slice(1)}
        {!isBusy && `, ${times}`}
        {failing_since !== null && `, since ${formatClock(failing_since)} UTC`}.
      </p>
      <p class="sub muted">
        {adviseOnPush(error)}
        {next_attempt_time !== null &&
          (next_attempt_time - now >= 1
            ? ` Next attempt in ${formatAge(next_attempt_time - now)}.`
            : ' The next attempt is due.')}
        {next_attempt_time === null && unacknowledged === 0 && ' It has no task that could be pushed again.'}
      </p>
    </>
  );
}

function Attempt({ attempt }: { readonly attempt: AgentPush }): VNode {
  const { outcome, status, error } = attempt;
  if (outcome === 'taken') {
    return (
      <span class="verdict t-ok">
        <Icon name="check" />
        {status ?? ''} taken
      </span>
    );
  }
  const isUnknown = outcome !== 'not_taken';
  return (
    <span class={isUnknown ? 'verdict wraps t-wait' : 'verdict wraps t-bad'}>
      <Icon name={isUnknown ? 'info' : 'cross'} />
      <span>{error ?? (status === null ? outcome.replaceAll('_', ' ') : `HTTP ${status}`)}</span>
    </span>
  );
}
