/** The agents: which is full, silent, or does not take its pushes? */
import type { VNode } from 'preact';
import { useConsole, useWatch } from '../gateway/console.ts';
import type { AgentPage, ListedAgent } from '../gateway/shapes.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { FilterBar } from '../parts/filter-bar.tsx';
import { formatNumber } from '../parts/format.ts';
import { type FrozenList, useFrozenList } from '../parts/frozen-list.ts';
import { LiveNote } from '../parts/live-note.tsx';
import { NewRows } from '../parts/new-rows.tsx';
import { usePageTitle } from '../parts/page-title.ts';
import { PartFailed } from '../parts/part-failed.tsx';
import { readTokens, type Token, writeTokens } from '../routing/filter.ts';
import { address, changeSearch, gatewayUrl } from '../routing/routes.ts';
import { AGENT_KEYS, buildAgentQuery } from './agents/query.ts';
import { AgentSwitches } from './agents/switches.tsx';
import { AgentTable } from './agents/table.tsx';

const PAGE_SIZE = 50;

/** Draws the page. Its address has the filters and the cursor. */
export function AgentsPage(): VNode {
  usePageTitle('Agents');
  const { client, overview } = useConsole();
  const { search } = address.value;
  const tokens = readTokens(search, AGENT_KEYS);
  const cursor = new URLSearchParams(search).get('cursor');
  const query = buildAgentQuery(tokens, cursor, PAGE_SIZE);
  const key = JSON.stringify(query);
  const watch = useWatch(key, client.readAgents(query));
  const page = watch.value.value;
  const failure = watch.failure.value;
  const { list = NO_ROWS, showNew } = useFrozenList(key, page, { rowsOf, idOf, size: PAGE_SIZE });
  const slots = overview.value.value?.slots;
  const change = (next: readonly Token[]): void => changeSearch(writeTokens(next, AGENT_KEYS));
  return (
    <>
      <div class="head">
        <h1>Agents</h1>
        {page && (
          <span class="muted">
            {formatNumber(page.counts.total)} registered
            {slots && `, ${formatNumber(slots.used)} of ${formatNumber(slots.used + slots.free)} slots used`}
          </span>
        )}
        <span class="grow" />
        <CopyButton
          text={`npx task-gateway agent exec --url ${gatewayUrl()} --tag demo -- cat`}
          label="Copy how to start one"
          done="Copied the command, without the secret."
        >
          Copy how to start one
        </CopyButton>
      </div>
      <FilterBar
        tokens={tokens}
        keys={AGENT_KEYS}
        suggestions={suggestTokens(overview.value.value?.tags ?? [])}
        onChange={change}
        placeholder="tag= state= full= failing= id="
      />
      <div class="barline">
        <AgentSwitches tokens={tokens} counts={page?.counts} onChange={change} />
        <NewRows count={list.newCount} onShow={showNew} />
        <span class="grow" />
        <LiveNote watch={watch} order="Trouble first" />
      </div>
      <section class="panel">
        {failure && !page ? (
          <PartFailed what="the agents" failure={failure} />
        ) : (
          <AgentTable list={list} page={page} tokens={tokens} cursor={cursor} onClear={() => change([])} />
        )}
      </section>
    </>
  );
}

/** Suggests the tags that agents have, and the values of the other filters. */
function suggestTokens(tags: readonly { readonly tag: string }[]): readonly string[] {
  return [
    ...tags.map(({ tag }) => `tag=${tag}`),
    ...['ready', 'processing', 'draining', 'offline'].map((state) => `state=${state}`),
    ...['full=true', 'full=false', 'failing=true', 'failing=false'],
  ];
}

const idOf = ({ agent_id }: ListedAgent): string => agent_id;
const rowsOf = ({ agents, next_cursor }: AgentPage) => ({ rows: agents, isComplete: next_cursor === null });
const NO_ROWS: FrozenList<ListedAgent> = { shown: [], newCount: 0, hasMissing: false };
