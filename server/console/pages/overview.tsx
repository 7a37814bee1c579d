/** The Overview: is work waiting that no agent will take, and for which tag? */
import type { VNode } from 'preact';
import { COUNTS_MS } from '../gateway/client.ts';
import { useConsole, useWatch } from '../gateway/console.ts';
import type { GatewayOverview } from '../gateway/shapes.ts';
import { usePageTitle } from '../parts/page-title.ts';
import { PartFailed } from '../parts/part-failed.tsx';
import { Counters } from './overview/counters.tsx';
import { DemandPanel } from './overview/demand.tsx';
import { FailingPanel } from './overview/failing.tsx';
import { FirstSteps } from './overview/first-steps.tsx';
import { useHeldValue } from './overview/held-value.ts';
import { OldestPanel } from './overview/oldest.tsx';
import { countNewProblems, WrongPanel } from './overview/wrong.tsx';

export function OverviewPage(): VNode {
  const { overview } = useConsole();
  usePageTitle('Overview');
  const read = overview.value.value;
  const failure = overview.failure.value;
  if (!read) {
    return (
      <>
        <h1 class="vh">Overview</h1>
        {failure && (
          <section class="panel">
            <PartFailed what="the overview" failure={failure} isOnly />
          </section>
        )}
      </>
    );
  }
  return isQuiet(read) ? <QuietOverview overview={read} /> : <Figures overview={read} />;
}

/** Whether nothing shows that the gateway was ever used. */
function isQuiet({ agents, tasks, ended, store }: GatewayOverview): boolean {
  const endedCount = Object.values(ended).reduce((sum, count) => sum + count, 0);
  return store.ok && agents.total === 0 && tasks.waiting + tasks.running + endedCount === 0;
}

/** Shown without agents and recent tasks: the first steps, unless older tasks are stored. */
function QuietOverview({ overview }: { readonly overview: GatewayOverview }): VNode {
  const { client } = useConsole();
  const counts = useWatch('all tasks', client.readTaskCounts({}), COUNTS_MS).value.value;
  if (!counts) return <h1 class="vh">Overview</h1>;
  return counts.total === 0 ? <FirstSteps /> : <Figures overview={overview} />;
}

function Figures({ overview }: { readonly overview: GatewayOverview }): VNode {
  const now = useConsole().time.shown.value;
  const { oldest_waiting, tasks } = overview;
  const { shown: problems, pointer, release } = useHeldValue(overview.problems);
  return (
    <>
      <h1 class="vh">Overview</h1>
      <Counters overview={overview} now={now} />
      <div class="cols overview" {...pointer}>
        <div class="stack">
          <FailingPanel overview={overview} now={now} />
          <DemandPanel overview={overview} now={now} />
        </div>
        <div class="stack">
          <WrongPanel
            {...{ problems, now }}
            newCount={countNewProblems(problems, overview.problems)}
            onShowNew={release}
          />
          <OldestPanel tasks={oldest_waiting} total={tasks.waiting} now={now} />
        </div>
      </div>
    </>
  );
}
