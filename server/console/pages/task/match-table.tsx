/** Agents with verdicts: why each gets a task or does not. */
import type { TaskMatch } from '@task-gateway/sdk';
import type { VNode } from 'preact';
import { useConsole } from '../../gateway/console.ts';
import { formatAgo, formatCount } from '../../parts/format.ts';
import { useHeldOrder } from '../../parts/held-order.ts';
import { Icon } from '../../parts/icon.tsx';
import { Slots } from '../../parts/slots.tsx';
import { Cell, type Column, Row, Table } from '../../parts/table.tsx';
import { Tags } from '../../parts/tag.tsx';
import { AgentId } from '../../parts/task-id.tsx';
import { hrefOf } from '../../routing/routes.ts';
import { countUnlisted, describeHelp, describeVerdict, sortVerdicts } from './verdicts.ts';

export type MatchTableProps = {
  readonly match: TaskMatch;
  /** Leaves out tags, contact and help, for a narrow column. */
  readonly isShort?: boolean;
};

const LONG_COLUMNS: readonly Column[] = [
  { head: 'Verdict', width: 130 },
  { head: 'Agent', width: 170 },
  { head: 'Shared tags', width: 108 },
  { head: 'Slots', width: 150 },
  { head: 'Last contact', width: 100 },
  { head: 'What would help' },
];
const SHORT_COLUMNS: readonly Column[] = [
  { head: 'Verdict', width: 128 },
  { head: 'Agent' },
  { head: 'Slots', width: 156 },
];
/** How many boxes fit into the narrow column. */
const BOXES_MAX = 6;
/** After this many seconds of silence, an agent may be gone. */
const SILENT_SECONDS = 90;

/** Draws the table, and below it how many agents it does not list. */
export function MatchTable({ match, isShort = false }: MatchTableProps): VNode {
  const { time } = useConsole();
  const { sharing, others } = countUnlisted(match);
  const { rows, hold } = useHeldOrder(sortVerdicts(match.agents), ({ agent_id }) => agent_id);
  // A past decision shows contacts as old as they were then.
  const now = match.live ? time.shown.value : match.time;
  const more = [
    ...(sharing > 0 ? [`${formatCount(sharing, 'more agent shares', 'more agents share')} a tag`] : []),
    ...(others > 0 ? [`${formatCount(others, 'more agent shares', 'more agents share')} no tag`] : []),
  ];
  return (
    <>
      {match.agents.length > 0 && (
        <div {...hold}>
          <Table columns={isShort ? SHORT_COLUMNS : LONG_COLUMNS} label="Agents and verdicts">
            {rows.map((agent) => (
              <MatchRow key={agent.agent_id} {...{ agent, isShort, now }} />
            ))}
          </Table>
        </div>
      )}
      {more.length > 0 && <p class="in muted more-agents">{more.join(' and ')} with the task.</p>}
    </>
  );
}

type MatchRowProps = {
  readonly agent: TaskMatch['agents'][number];
  readonly isShort: boolean;
  readonly now: number;
};

function MatchRow({ agent, isShort, now }: MatchRowProps): VNode {
  const { agent_id, shared_tags, last_contact_time, current_load, push_failing } = agent;
  const { icon, word, class: colour } = describeVerdict(agent.reason);
  const silentSeconds = Math.max(now - last_contact_time, 0);
  return (
    <Row href={hrefOf({ page: 'agent', agent_id })} rowId={agent_id}>
      <Cell>
        <span class={`verdict ${colour}`}>
          <Icon name={icon} />
          {word}
        </span>
      </Cell>
      <Cell>
        <AgentId agent_id={agent_id} />
      </Cell>
      {!isShort && (
        <Cell>
          {shared_tags.length > 0 ? (
            <Tags tags={shared_tags} kindOf={() => 'shared'} isOneRow />
          ) : (
            <span class="faint">none</span>
          )}
        </Cell>
      )}
      <Cell>
        <Slots agent={{ ...agent, running: current_load, isFailing: push_failing }} boxesMax={BOXES_MAX} />
      </Cell>
      {!isShort && (
        <Cell label="contact">
          <span class={silentSeconds > SILENT_SECONDS ? 't-bad nowrap' : 'nowrap'}>
            {formatAgo(silentSeconds)}
          </span>
        </Cell>
      )}
      {!isShort && (
        <Cell class="full">
          <span class="muted">{describeHelp(agent)}</span>
        </Cell>
      )}
    </Row>
  );
}
