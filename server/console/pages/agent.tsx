/** The page of an agent: is it reachable, and which tasks does it have? */
import { NotFoundError } from '@task-gateway/sdk';
import type { VNode } from 'preact';
import { useConsole, useWatch } from '../gateway/console.ts';
import type { AgentDetail } from '../gateway/shapes.ts';
import { agentStateOf, Chip } from '../parts/chip.tsx';
import { CopyButton } from '../parts/copy-button.tsx';
import { Icon } from '../parts/icon.tsx';
import { usePageTitle } from '../parts/page-title.ts';
import { Panel } from '../parts/panel.tsx';
import { FailureNote, PartFailed } from '../parts/part-failed.tsx';
import { hrefOf } from '../routing/routes.ts';
import { AgentAbout } from './agent/about.tsx';
import { ContactLegend, ContactStrip } from './agent/contact-strip.tsx';
import { DrainButton } from './agent/drain-button.tsx';
import { EndedPanel } from './agent/ended.tsx';
import { type FailedTasks, findFailedTasks } from './agent/failed-tasks.ts';
import { PushPanel } from './agent/pushes.tsx';
import { SlotsPanel } from './agent/slots-panel.tsx';

export function AgentPage({ agent_id }: { readonly agent_id: string }): VNode {
  usePageTitle(agent_id);
  const { client, changeRefusal, overview } = useConsole();
  const watch = useWatch(`agent ${agent_id}`, client.readAgent(agent_id));
  const agent = watch.value.value;
  const failure = watch.failure.value;
  const refusal = changeRefusal.value;
  const fails = findFailedTasks(overview.value.value?.failures.groups, agent_id);
  const isGone = failure?.error instanceof NotFoundError;
  return (
    <>
      <nav class="crumb" aria-label="Where">
        <a class="link" href={hrefOf({ page: 'agents' })}>
          Agents
        </a>
        <Icon name="right" />
        <span class="mono">{shorten(agent_id)}</span>
      </nav>
      <div class="head">
        {agent && !isGone && <Chip state={agentStateOf(agent)} failed={fails?.failed} big />}
        <h1 class="mono">{agent_id}</h1>
        <CopyButton text={agent_id} label="Copy the id" done="Copied the id." />
        <span class="grow" />
        {failure && agent && !isGone && <FailureNote failure={failure} />}
        <a class="btn" href={hrefOf({ page: 'tasks' }, `?agent=${encodeURIComponent(agent_id)}&since=1h`)}>
          Its tasks, last hour
        </a>
        {agent && !isGone && <DrainButton agent={agent} onChanged={() => void watch.refresh()} />}
      </div>
      {agent && !isGone && refusal !== null && <p class="muted refusal">{refusal}</p>}
      {isGone ? (
        <Gone agent_id={agent_id} />
      ) : failure && !agent ? (
        <section class="panel">
          <PartFailed what="the agent" failure={failure} />
        </section>
      ) : (
        agent && <Details {...{ agent, fails }} />
      )}
    </>
  );
}

/** Cuts a long id to its end, which names the replica. */
function shorten(agent_id: string): string {
  const characters = [...agent_id];
  return characters.length > 24 ? `…${characters.slice(-16).join('')}` : agent_id;
}

function Gone({ agent_id }: { readonly agent_id: string }): VNode {
  return (
    <section class="panel narrow">
      <div class="in">
        <p>
          <b>No agent is registered with this id.</b>
        </p>
        <p class="muted">
          It has unregistered, was offline for long and is forgotten, or never was here. The page shows it as
          soon as it registers.{' '}
          <a class="link" href={hrefOf({ page: 'tasks' }, `?agent=${encodeURIComponent(agent_id)}`)}>
            Show the tasks it had
          </a>
        </p>
      </div>
    </section>
  );
}

type DetailsProps = { readonly agent: AgentDetail; readonly fails: FailedTasks | undefined };

function Details({ agent, fails }: DetailsProps): VNode {
  const now = useConsole().time.shown.value;
  const { activity } = agent;
  return (
    <>
      <AgentAbout {...{ agent, fails, now }} />
      <div class="cols agent">
        <div class="stack">
          <SlotsPanel agent={agent} now={now} />
          {activity && (
            <Panel title="Contact and pushes" right={<ContactLegend />}>
              <div class="in">
                <ContactStrip activity={activity} isTall />
                <div class="contacts-axis" aria-hidden="true">
                  <span>{Math.round((activity.step * activity.contact.length) / 60)} min ago</span>
                  <span>{Math.round((activity.step * activity.contact.length) / 120)}</span>
                  <span>now</span>
                </div>
              </div>
            </Panel>
          )}
          <EndedPanel agent_id={agent.agent_id} />
        </div>
        <div class={agent.failing ? 'stack first' : 'stack'}>
          <PushPanel agent={agent} now={now} />
        </div>
      </div>
    </>
  );
}
