/** The agents: which is full, silent, or does not take its pushes? */
import type { VNode } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { useConsole, useWatch } from '../gateway/console.ts';
import type { AgentPage, ListedAgent } from '../gateway/shapes.ts';
import { CopyButton, copyText } from '../parts/copy-button.tsx';
import { FilterBar } from '../parts/filter-bar.tsx';
import { formatNumber } from '../parts/format.ts';
import { type FrozenList, showRows, updateRows } from '../parts/frozen-list.ts';
import { Icon } from '../parts/icon.tsx';
import { LiveNote } from '../parts/live-note.tsx';
import { usePageTitle } from '../parts/page-title.ts';
import { PartFailed } from '../parts/part-failed.tsx';
import { readTokens, type Token, writeTokens } from '../routing/filter.ts';
import { address, changeSearch, gatewayUrl } from '../routing/routes.ts';
import { AGENT_KEYS, buildAgentQuery } from './agents/query.ts';
import { AgentSwitches } from './agents/switches.tsx';
import { AgentTable } from './agents/table.tsx';

const PAGE_SIZE = 50;

/** The page. Its address has the filters, and the cursor of the page that is shown. */
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
  const { list, showNew } = useFrozenAgents(key, page);
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
      >
        <button
          class="btn quiet only-wide"
          type="button"
          onClick={() => void copyText(location.href, 'Copied the link.')}
        >
          <Icon name="link" />
          Copy link
        </button>
      </FilterBar>
      <div class="barline">
        <AgentSwitches tokens={tokens} counts={page?.counts} onChange={change} />
        <button class={`btn small newrows${list.newCount > 0 ? ' on' : ''}`} type="button" onClick={showNew}>
          {formatNumber(list.newCount)} new, show them
        </button>
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
const NO_ROWS: FrozenList<ListedAgent> = { shown: [], newCount: 0, hasMissing: false };

/** The rows in the order in which they were first read with these filters, until the reader asks for more. */
function useFrozenAgents(
  key: string,
  page: AgentPage | undefined,
): { readonly list: FrozenList<ListedAgent>; readonly showNew: () => void } {
  const shown = useRef<{ key: string; page: AgentPage; list: FrozenList<ListedAgent> } | null>(null);
  const [, redraw] = useState(0);
  const before = shown.current;
  if (page && before?.page !== page) {
    const isComplete = page.next_cursor === null;
    const list =
      before?.key === key
        ? updateRows(before.list, page.agents, idOf, { size: PAGE_SIZE, isComplete })
        : showRows(page.agents, idOf, PAGE_SIZE);
    shown.current = { key, page, list };
  }
  const showNew = (): void => {
    if (!shown.current) return;
    const { page: current } = shown.current;
    shown.current = { key, page: current, list: showRows(current.agents, idOf, PAGE_SIZE) };
    redraw((count) => count + 1);
  };
  return { list: shown.current?.list ?? NO_ROWS, showNew };
}
