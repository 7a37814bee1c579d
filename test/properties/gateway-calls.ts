/** Carries out those operations of a model run that are calls of a client or an agent. */
import { GatewayError } from '../../server/ports/gateway.ts';
import { StoreUnavailable } from '../../server/ports/store.ts';
import { BROKEN, BUSY, GONE, REFUSED, TAKEN } from '../harness/fake-pusher.ts';
import { buildRegistration, buildSubmission, NEVER, type World } from '../harness/world.ts';
import { listRunning, nameAgent, nameEndpoint } from './model-agents.ts';
import type { ModelHistory } from './model-history.ts';
import { answerCall, writeCall } from './model-output.ts';
import type { Operation } from './operations.ts';

const OUTCOMES = { taken: TAKEN, refused: REFUSED, busy: BUSY, gone: GONE, broken: BROKEN };

/**
 * Makes the call. The gateway may refuse it and the store may have an outage; any other error is a defect and
 * is thrown.
 */
export async function call(world: World, history: ModelHistory, operation: Operation): Promise<void> {
  try {
    await makeCall(world, history, operation);
  } catch (error) {
    if (!(error instanceof GatewayError || error instanceof StoreUnavailable)) throw error;
  }
}

async function makeCall(world: World, history: ModelHistory, operation: Operation): Promise<void> {
  const { gateway, pusher, store } = world;
  switch (operation.op) {
    case 'submit': {
      const { tags: task_tags, session: cli_session_id, timeout, queue, key } = operation;
      const queued = queue === null ? {} : { queue_timeout: queue };
      const submission = buildSubmission({ task_tags, cli_session_id, timeout, ...queued });
      const { request_id } = await gateway.submitTask(submission, key ?? undefined);
      if (!history.submitted.has(request_id)) history.tasks.push(request_id);
      history.submitted.add(request_id);
      return;
    }
    case 'register': {
      const { tags: agent_tags, max: max_concurrent, load: current_load, pull, lostAfter } = operation;
      const endpoint = pull ? { endpoint: 'pull' } : {};
      const lost = lostAfter === null ? {} : { lost_after: lostAfter };
      const more = { agent_tags, max_concurrent, current_load, ...endpoint, ...lost };
      await register(world, history, buildRegistration(nameAgent(operation.agent), more));
      return;
    }
    case 'restart': {
      const request_ids = operation.keep ? await listRunning(store, operation.agent) : [];
      const more = { agent_tags: ['a', 'b'], max_concurrent: 3, request_ids };
      await register(world, history, buildRegistration(nameAgent(operation.agent), more));
      return;
    }
    case 'heartbeat': {
      const { draining, load, names } = operation;
      const registration = operation.late ? findEarlierToken(history, operation.agent) : undefined;
      const request_ids = names ? { request_ids: await listRunning(store, operation.agent) } : {};
      await gateway.heartbeatAgent({
        agent_id: nameAgent(operation.agent),
        ...(draining !== null && { draining }),
        ...(load !== null && { current_load: load }),
        ...request_ids,
        ...(registration !== undefined && { registration }),
      });
      return;
    }
    case 'drain':
      await gateway.drainAgent(nameAgent(operation.agent), operation.draining);
      return;
    case 'unregister':
      await gateway.unregisterAgent(
        nameAgent(operation.agent),
        operation.late ? findEarlierToken(history, operation.agent) : undefined,
      );
      return;
    case 'claim': {
      const claim = gateway.claimTask({ agent_id: nameAgent(operation.agent), wait: operation.wait }, NEVER);
      if (operation.wait === 0) await claim;
      else claim.catch(() => undefined);
      return;
    }
    case 'write':
    case 'ask':
      return await writeCall(world, history, operation);
    case 'answer':
    case 'claimAnswer':
      return await answerCall(world, history, operation);
    case 'report':
    case 'finish':
    case 'cancel':
      return await settleCall(world, history, operation);
    case 'script':
      pusher.script(
        nameEndpoint(operation.agent),
        operation.reply === 'hang' ? 'hang' : OUTCOMES[operation.reply],
      );
      return;
    case 'respond':
      pusher.respond(nameEndpoint(operation.agent), OUTCOMES[operation.reply]);
      return;
    default:
      return;
  }
}

async function register(
  { gateway }: World,
  { registrations }: ModelHistory,
  body: Parameters<World['gateway']['registerAgent']>[0],
): Promise<void> {
  const { agent_id, registration } = await gateway.registerAgent(body);
  registrations.set(agent_id, [...(registrations.get(agent_id) ?? []), registration]);
}

/** The token of the agent's registration before its last; undefined if it registered once or never. */
function findEarlierToken({ registrations }: ModelHistory, agent: number): string | undefined {
  return registrations.get(nameAgent(agent))?.at(-2);
}

async function settleCall(
  world: World,
  history: ModelHistory,
  operation: Extract<Operation, { op: 'report' | 'finish' | 'cancel' }>,
): Promise<void> {
  const { gateway, store } = world;
  const { tasks } = history;
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
  const result = status === 'running' ? { reply: 'on it' } : { output: '好' };
  await gateway.reportResult({ request_id, agent_id, status, progress: 40, result });
}
