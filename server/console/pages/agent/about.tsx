/** An agent's tags, endpoint, slots and contact, and whether it takes new tasks. */
import type { VNode } from 'preact';
import type { AgentDetail } from '../../gateway/shapes.ts';
import { Entry } from '../../parts/entry.tsx';
import { formatAge, formatAgo, formatDate, formatNumber } from '../../parts/format.ts';
import { Tags } from '../../parts/tag.tsx';
import { classifyContact } from './contact.ts';
import type { FailedTasks } from './failed-tasks.ts';
import { PULL } from './push-text.ts';

type Props = { readonly agent: AgentDetail; readonly now: number };

export function AgentAbout({
  agent,
  now,
  fails,
}: Props & { readonly fails: FailedTasks | undefined }): VNode {
  const { agent_tags, endpoint, max_concurrent, current_load, running, registered_time, replaced } = agent;
  const free = Math.max(0, max_concurrent - current_load);
  const elsewhere = Math.max(0, current_load - running);
  return (
    <dl class="about">
      <Entry name="Tags">
        {agent_tags.length > 0 ? <Tags tags={agent_tags} /> : 'none: it gets no task'}
      </Entry>
      <Entry name="Endpoint">
        {endpoint === PULL ? 'pull: it fetches its tasks' : <span class="mono">{endpoint}</span>}
      </Entry>
      <Entry name="Slots">
        {formatNumber(current_load)} of {formatNumber(max_concurrent)} used, {formatNumber(free)} free
        {elsewhere > 0 && `; ${formatNumber(elsewhere)} by load from elsewhere`}
      </Entry>
      <Entry name="Last contact">
        <Contact agent={agent} now={now} />
      </Entry>
      <Entry name="Registered">
        {formatDate(registered_time, now)}, {formatAgo(now - registered_time)}
        {replaced && ', while another process of this id was there: started again, or running twice'}
      </Entry>
      <Entry name="Takes new tasks">{describeWillingness(agent, fails)}</Entry>
    </dl>
  );
}

function Contact({ agent, now }: Props): VNode {
  const { last_contact_time, offline_time } = agent;
  const contact = classifyContact(agent, now);
  return (
    <>
      <span class={contact === 'ok' ? '' : `b t-${contact}`}>{formatAgo(now - last_contact_time)}</span>
      {contact === 'wait' && offline_time !== null && `, offline in ${formatAge(offline_time - now)}`}
    </>
  );
}

/** Describes whether the agent gets new tasks now, and if not, why. Pure. */
export function describeWillingness(
  agent: Pick<AgentDetail, 'state' | 'drained_by_operator' | 'full' | 'failing'>,
  fails?: FailedTasks,
): string {
  if (agent.state === 'offline') return 'no, it is offline';
  if (agent.state === 'draining') {
    return agent.drained_by_operator ? 'no, it is drained by the administrator' : 'no, it is draining';
  }
  if (agent.full) return agent.failing ? 'no, it is full, and its pushes fail' : 'no, it is full';
  if (agent.failing) return 'yes, but ranks last while its pushes fail';
  return fails ? `yes, but it fails ${fails.failed} of the last ${fails.failed} ${fails.task_type}` : 'yes';
}
