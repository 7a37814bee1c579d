/** The agents as rows, the legend of the boxes, and the pages. */
import type { VNode } from 'preact';
import { useConsole } from '../../gateway/console.ts';
import type { AgentPage, AgentPushes, ListedAgent } from '../../gateway/shapes.ts';
import { agentStateOf, Chip } from '../../parts/chip.tsx';
import { formatCoarse, formatNumber } from '../../parts/format.ts';
import type { FrozenList } from '../../parts/frozen-list.ts';
import { Slots, SlotsLegend } from '../../parts/slots.tsx';
import { Cell, type Column, Row, Table } from '../../parts/table.tsx';
import { Tags } from '../../parts/tag.tsx';
import { AgentId } from '../../parts/task-id.tsx';
import { type Token, writeTokens } from '../../routing/filter.ts';
import { hrefOf } from '../../routing/routes.ts';
import { classifyContact } from '../agent/contact.ts';
import { findFailedTasks } from '../agent/failed-tasks.ts';
import { describePush } from '../agent/push-text.ts';
import { AGENT_KEYS } from './query.ts';

const COLUMNS: readonly Column[] = [
  { head: 'State', width: 140 },
  { head: 'Agent', width: 200 },
  { head: 'Tags', width: 186 },
  { head: 'Slots', width: 288 },
  { head: 'Contact', width: 92, isNumber: true },
  { head: 'Last push' },
];
const TAGS_MAX = 3;

type Props = {
  readonly list: FrozenList<ListedAgent>;
  readonly page: AgentPage | undefined;
  readonly tokens: readonly Token[];
  readonly cursor: string | null;
  readonly onClear: () => void;
};

/** Draws the table with its footer; without rows, explains why there are none. */
export function AgentTable({ list, page, tokens, cursor, onClear }: Props): VNode {
  const { time, overview } = useConsole();
  const now = time.shown.value;
  const groups = overview.value.value?.failures.groups;
  return (
    <>
      {page && list.shown.length === 0 ? (
        <NoAgents page={page} tokens={tokens} onClear={onClear} />
      ) : (
        <div class="scroll agents-table">
          <Table columns={COLUMNS} label="Agents">
            {list.shown.map(({ id, row, isMissing }) => (
              <AgentEntry
                key={id}
                {...{ row, now, isMissing }}
                failed={findFailedTasks(groups, id)?.failed}
              />
            ))}
          </Table>
        </div>
      )}
      <div class="pager">
        <SlotsLegend />
        <span class="grow" />
        {page && <Pages page={page} shown={list.shown.length} tokens={tokens} cursor={cursor} />}
      </div>
    </>
  );
}

type EntryProps = {
  readonly row: ListedAgent;
  readonly now: number;
  readonly isMissing: boolean;
  readonly failed: number | undefined;
};

function AgentEntry({ row, now, isMissing, failed }: EntryProps): VNode {
  const { agent_id, agent_tags, state, push, last_contact_time, unacknowledged, failing } = row;
  const isInTrouble = failing && unacknowledged > 0;
  const contact = classifyContact(row, now);
  return (
    <Row
      href={hrefOf({ page: 'agent', agent_id })}
      rowId={agent_id}
      class={`${isInTrouble ? 'row-bad' : ''} ${isMissing ? 'dim' : ''}`.trim()}
    >
      <Cell>
        <Chip state={agentStateOf(row)} failed={failed} />
      </Cell>
      <Cell>
        <AgentId agent_id={agent_id} isBold />
      </Cell>
      <Cell>
        <Tags
          tags={agent_tags}
          max={TAGS_MAX}
          isOneRow
          kindOf={() => (state === 'offline' ? 'off' : 'plain')}
        />
      </Cell>
      <Cell>
        <Slots agent={{ ...row, isFailing: failing }} />
      </Cell>
      <Cell class="num" label="contact">
        <span class={`nowrap ${contact === 'ok' ? '' : `t-${contact} b`}`}>
          {formatCoarse(now - last_contact_time)}
        </span>
      </Cell>
      <Cell class="full">
        <LastPush endpoint={row.endpoint} push={push} />
      </Cell>
    </Row>
  );
}

function LastPush({ endpoint, push }: { readonly endpoint: string; readonly push: AgentPushes }): VNode {
  const { text, tone, count } = describePush(endpoint, push);
  return (
    <span class={`cut ${tone}`} title={text}>
      {count > 0 ? <b>{text}</b> : text}
      {count > 0 && ` × ${formatNumber(count)}`}
    </span>
  );
}

/** Draws `1 to 12 of 12`, and the buttons of the pages. The way back is the browser's. */
function Pages(props: {
  readonly page: AgentPage;
  readonly shown: number;
  readonly tokens: readonly Token[];
  readonly cursor: string | null;
}): VNode {
  const { page, shown, tokens, cursor } = props;
  const isAll = tokens.length === 0 && cursor === null && page.next_cursor === null;
  const first = hrefOf({ page: 'agents' }, writeTokens(tokens, AGENT_KEYS));
  return (
    <>
      <span>
        {isAll
          ? `1 to ${formatNumber(shown)} of ${formatNumber(page.counts.total)}`
          : `${formatNumber(shown)} shown`}
      </span>
      {cursor !== null && (
        <a class="btn small" href={first}>
          First page
        </a>
      )}
      {page.next_cursor !== null && (
        <a
          class="btn small"
          href={hrefOf({ page: 'agents' }, writeTokens(tokens, AGENT_KEYS, page.next_cursor))}
        >
          Next page
        </a>
      )}
    </>
  );
}

function NoAgents(props: {
  readonly page: AgentPage;
  readonly tokens: readonly Token[];
  readonly onClear: () => void;
}): VNode {
  const { page, tokens, onClear } = props;
  if (page.counts.total === 0) {
    return (
      <div class="in">
        <p>
          <b>No agent is registered.</b>
        </p>
        <p class="muted">
          Any program can be one: <code>task-gateway agent exec</code> runs a command for each task.
        </p>
      </div>
    );
  }
  return (
    <div class="in">
      <p>
        <b>No agent matches.</b>
      </p>
      <p class="muted">
        {formatNumber(page.counts.total)} are registered; the filter{' '}
        <code>{tokens.map(({ key, value }) => `${key}=${value}`).join(' ')}</code> leaves none here.{' '}
        <button class="link plain" type="button" onClick={onClear}>
          Clear the filter
        </button>
      </p>
    </div>
  );
}
