/** Demand and supply: a row for each tag. The tag that needs an agent most is at the top. */
import type { VNode } from 'preact';
import { useConsole, useWatch } from '../../gateway/console.ts';
import type { GatewayOverview, TagDemand } from '../../gateway/shapes.ts';
import { formatAge, formatNumber } from '../../parts/format.ts';
import { useHeldOrder } from '../../parts/held-order.ts';
import { Panel } from '../../parts/panel.tsx';
import { Cell, type Column, Row, Table } from '../../parts/table.tsx';
import { Tag } from '../../parts/tag.tsx';
import { address, hrefOf } from '../../routing/routes.ts';
import { DemandBar, DemandLegend } from './demand-bar.tsx';
import { chooseDemandScale, classifyDemand, type Demand } from './demand-scale.ts';

const SHOWN_MAX = 14;
const ALL_MAX = 1_000;
const ALL = '?tags=all';

const COLUMNS: readonly Column[] = [
  { head: 'Tag', width: 122 },
  { head: 'Waiting', width: 66, isNumber: true },
  { head: 'Oldest', width: 88, isNumber: true },
  { head: 'No agent', width: 78, isNumber: true },
  { head: 'Used', width: 50, isNumber: true },
  { head: 'Free', width: 46, isNumber: true },
  { head: 'Agents', width: 66, isNumber: true },
  { head: 'Slots, and what waits beyond them' },
];

type Props = { readonly overview: GatewayOverview; readonly now: number };

/** Draws the panel. With `?tags=all` it has all tags, up to 1,000; else those with the greatest need. */
export function DemandPanel({ overview, now }: Props): VNode {
  const isAll = address.value.search === ALL;
  if (isAll && overview.tags_total > overview.tags.length) return <AllDemand overview={overview} now={now} />;
  const tags = isAll ? overview.tags : overview.tags.slice(0, SHOWN_MAX);
  return <DemandTable overview={overview} now={now} tags={tags} />;
}

function AllDemand({ overview, now }: Props): VNode {
  const { client } = useConsole();
  const all = useWatch('all tags', client.readOverview({ tags: ALL_MAX }));
  return <DemandTable overview={overview} now={now} tags={all.value.value?.tags ?? overview.tags} />;
}

function DemandTable({ overview, now, tags }: Props & { readonly tags: readonly TagDemand[] }): VNode {
  const { rows, hold } = useHeldOrder(tags, ({ tag }) => tag);
  const scale = chooseDemandScale(tags.map(demandOf));
  return (
    <Panel
      title="Demand and supply by tag"
      right={<DemandLegend />}
      footer={<Footer overview={overview} shown={tags.length} />}
    >
      {tags.length === 0 ? (
        <div class="in">
          <p class="muted">No agent has a tag, and no task asks for one.</p>
        </div>
      ) : (
        <div {...hold}>
          <Table columns={COLUMNS} label="Demand and supply by tag">
            {rows.map((tag) => (
              <DemandRow key={tag.tag} tag={tag} now={now} scale={scale} />
            ))}
          </Table>
        </div>
      )}
    </Panel>
  );
}

/** Separates unusable slots, whose agents do not take their pushes, from used and free ones. */
function demandOf({ waiting, used, free, unusable, not_taken }: TagDemand): Demand {
  return { waiting, used: used - not_taken, unusable, free: Math.max(0, free + not_taken - unusable) };
}

function DemandRow(props: { readonly tag: TagDemand; readonly now: number; readonly scale: number }): VNode {
  const { tag, now, scale } = props;
  const demand = demandOf(tag);
  const need = classifyDemand({ ...tag, ...demand });
  const tone = need === 'ok' ? '' : `t-${need}`;
  const query = `tag=${encodeURIComponent(tag.tag)}`;
  const tasks = (search: string): string => hrefOf({ page: 'tasks' }, `?${search}&${query}`);
  const agents = hrefOf({ page: 'agents' }, `?${query}`);
  return (
    <Row href={tasks('status=pending,running')} rowId={tag.tag} class={need === 'ok' ? '' : `row-${need}`}>
      <Cell>
        <a href={hrefOf({ page: 'tasks' }, `?${query}`)} class="tags one">
          <Tag tag={tag.tag} kind={need === 'bad' ? 'none' : 'plain'} />
        </a>
      </Cell>
      <Cell class="num" label="waiting">
        {tag.waiting > 0 && (
          <a class={`b ${tone || 't-wait'}`} href={tasks('waiting=true')}>
            {formatNumber(tag.waiting)}
          </a>
        )}
      </Cell>
      <Cell class="num nowrap" label="oldest">
        {tag.oldest_create_time !== null && formatAge(now - tag.oldest_create_time)}
      </Cell>
      <Cell class="num" label="no agent">
        {tag.no_agent > 0 && (
          <a class={`b ${need === 'bad' ? tone : ''}`} href={tasks('outcome=no_agent&ended=15m')}>
            {formatNumber(tag.no_agent)}
          </a>
        )}
      </Cell>
      <Cell class="num" label="used">
        <a class={tag.used > 0 ? '' : 'faint'} href={agents}>
          {formatNumber(tag.used)}
        </a>
      </Cell>
      <Cell class="num" label="free">
        <a class={demand.free > 0 ? '' : tone === '' ? 'faint' : `b ${tone}`} href={agents}>
          {formatNumber(demand.free)}
        </a>
      </Cell>
      <Cell class="num" label="agents">
        <AgentNumber tag={tag} isBad={need === 'bad'} href={agents} />
      </Cell>
      <Cell class="full">
        <DemandBar demand={demand} scale={scale} isBad={tag.eligible === 0} />
      </Cell>
    </Row>
  );
}

/** Draws `2`, `1 of 3`, or `none` if an agent is needed. */
function AgentNumber(props: {
  readonly tag: TagDemand;
  readonly isBad: boolean;
  readonly href: string;
}): VNode {
  const { agents, eligible } = props.tag;
  if (props.isBad && agents === 0) return <b class="t-bad">none</b>;
  return (
    <a class={props.isBad ? 'b t-bad' : ''} href={props.href}>
      {formatNumber(eligible)}
      {eligible !== agents && <span class="muted"> of {formatNumber(agents)}</span>}
    </a>
  );
}

function Footer({ overview, shown }: { readonly overview: GatewayOverview; readonly shown: number }): VNode {
  const { tags_total, window: span } = overview;
  const total = formatNumber(tags_total);
  const isAll = address.value.search === ALL;
  return (
    <>
      <b>No agent</b>: tasks that ended so in {Math.round(span / 60)} min. An agent with several tags counts
      in each row.{' '}
      {shown < tags_total ? `${shown} of ${total} tags, ordered by need` : `${total} tags, ordered by need`}
      {shown < tags_total && !isAll && (
        <>
          ;{' '}
          <a class="link" href={hrefOf({ page: 'overview' }, ALL)}>
            show all
          </a>
        </>
      )}
      {isAll && tags_total > SHOWN_MAX && (
        <>
          ;{' '}
          <a class="link" href={hrefOf({ page: 'overview' })}>
            show the first {SHOWN_MAX}
          </a>
        </>
      )}
      .
    </>
  );
}
