/** The operations that are calls of a client or an agent, made on the gateway of a world. */
import { GatewayError } from '../../server/ports/gateway.ts';
import { type Store, StoreUnavailable } from '../../server/ports/store.ts';
import { BROKEN, BUSY, GONE, REFUSED, TAKEN } from '../harness/fake-pusher.ts';
import { buildRegistration, buildSubmission, NEVER, type World } from '../harness/world.ts';
import type { Past } from './model-history.ts';
import type { Operation } from './operations.ts';

const OUTCOMES = { taken: TAKEN, refused: REFUSED, busy: BUSY, gone: GONE, broken: BROKEN };

/** Makes the call. It may be refused or meet an outage; anything else it throws is a defect. */
export async function call(world: World, past: Past, operation: Operation): Promise<void> {
  try {
    await makeCall(world, past, operation);
  } catch (error) {
    if (!(error instanceof GatewayError || error instanceof StoreUnavailable)) throw error;
  }
}

async function makeCall(world: World, past: Past, operation: Operation): Promise<void> {
  const { gateway, pusher, store } = world;
  switch (operation.op) {
    case 'submit': {
      const { tags: task_tags, session: cli_session_id, timeout, queue, key } = operation;
      const queued = queue === null ? {} : { queue_timeout: queue };
      const submission = buildSubmission({ task_tags, cli_session_id, timeout, ...queued });
      const { request_id } = await gateway.submitTask(submission, key ?? undefined);
      if (!past.answered.has(request_id)) past.tasks.push(request_id);
      past.answered.add(request_id);
      return;
    }
    case 'register': {
      const { tags: agent_tags, max: max_concurrent, load: current_load, pull, lostAfter } = operation;
      const endpoint = pull ? { endpoint: 'pull' } : {};
      const lost = lostAfter === null ? {} : { lost_after: lostAfter };
      const more = { agent_tags, max_concurrent, current_load, ...endpoint, ...lost };
      await gateway.registerAgent(buildRegistration(nameAgent(operation.agent), more));
      return;
    }
    case 'restart': {
      const request_ids = operation.keep ? await listRunning(store, operation.agent) : [];
      const more = { agent_tags: ['a', 'b'], max_concurrent: 3, request_ids };
      await gateway.registerAgent(buildRegistration(nameAgent(operation.agent), more));
      return;
    }
    case 'heartbeat': {
      const { draining, load, names } = operation;
      const request_ids = names ? { request_ids: await listRunning(store, operation.agent) } : {};
      await gateway.heartbeatAgent({
        agent_id: nameAgent(operation.agent),
        ...(draining !== null && { draining }),
        ...(load !== null && { current_load: load }),
        ...request_ids,
      });
      return;
    }
    case 'unregister':
      await gateway.unregisterAgent(nameAgent(operation.agent));
      return;
    case 'claim': {
      const claim = gateway.claimTask({ agent_id: nameAgent(operation.agent), wait: operation.wait }, NEVER);
      if (operation.wait === 0) await claim;
      else claim.catch(() => undefined);
      return;
    }
    case 'report':
    case 'finish':
    case 'cancel':
      return await settleCall(world, past, operation);
    case 'script':
      pusher.script(
        nameEndpoint(operation.agent),
        operation.answer === 'hang' ? 'hang' : OUTCOMES[operation.answer],
      );
      return;
    case 'answer':
      pusher.answer(nameEndpoint(operation.agent), OUTCOMES[operation.answer]);
      return;
    default:
      return;
  }
}

async function settleCall(
  world: World,
  past: Past,
  operation: Extract<Operation, { op: 'report' | 'finish' | 'cancel' }>,
): Promise<void> {
  const { gateway, store } = world;
  const { tasks } = past;
  if (operation.op === 'cancel') {
    const request_id = tasks[operation.task % Math.max(1, tasks.length)] ?? 'none';
    await gateway.cancelTask(request_id);
    return;
  }
  const agent_id = nameAgent(operation.agent);
  const request_id =
    operation.op === 'finish'
      ? ((await listRunning(store, operation.agent))[0] ?? 'none')
      : (tasks[operation.task % Math.max(1, tasks.length)] ?? 'none');
  const status = operation.op === 'finish' ? 'success' : operation.status;
  await gateway.reportResult({ request_id, agent_id, status, progress: 40, result: { output: '好' } });
}

/** The tasks that hold a slot of the agent, at most 100. */
export async function listRunning(store: Store, agent: number): Promise<string[]> {
  const { items } = await store.list('slots', { agent_id: nameAgent(agent) }, { limit: 100 });
  return items.map(({ request_id }) => request_id);
}

/** The agent's id. */
export function nameAgent(agent: number): string {
  return `A${agent}`;
}

/** Where the agent is pushed to. */
export function nameEndpoint(agent: number): string {
  return `http://${nameAgent(agent)}.test/tasks`;
}
