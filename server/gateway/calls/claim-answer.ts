/** `claimAnswer`: the agent of a task waits for the answer to a question that it has asked. */
import { isSettled, mayWrite } from '../../domain/task.ts';
import type { Clock } from '../../ports/clock.ts';
import { type Gateway, GatewayError } from '../../ports/gateway.ts';
import { type Store, StoreDamaged } from '../../ports/store.ts';
import { type RegisteredAgents, refuseStranger } from '../agents/registered-agents.ts';
import { readDetails, taskNotFound } from '../tasks/read-task.ts';
import { notAsked } from './answer-task.ts';
import { awaitChange } from './await-change.ts';
import { noteContactWhile } from './waiting-contact.ts';

type Deps = { readonly store: Store; readonly clock: Clock; readonly agents: RegisteredAgents };

type Claim = Parameters<Gateway['claimAnswer']>[0];
type Found = Awaited<ReturnType<Gateway['claimAnswer']>>;

/** Creates the operation. Each of its reads has a time limit. */
export function createClaimAnswer(deps: Deps): Pick<Gateway, 'claimAnswer'> {
  return {
    async claimAnswer(claim, signal) {
      const record = await deps.agents.noteContactIfRegistered(claim.agent_id, { by: 'call' });
      let found = await readAnswer(deps, claim);
      if (found || claim.wait === 0) return found;
      const wait = () =>
        awaitChange(deps, `task:${claim.request_id}`, claim.wait * 1_000, signal, async () => {
          found = await readAnswer(deps, claim);
          return found !== null;
        });
      await (record ? noteContactWhile(deps, record, signal, wait) : wait());
      return found;
    },
  };
}

/** Resolves with null while the question is open. */
async function readAnswer(deps: Deps, { agent_id, request_id, key }: Omit<Claim, 'wait'>): Promise<Found> {
  const task = await deps.store.get('task', request_id);
  if (!task) throw taskNotFound();
  const { value: state, revision } = task;
  if (!mayWrite(state, agent_id)) return await refuseStranger(deps, agent_id);
  if (isSettled(state)) {
    throw new GatewayError('task_terminal', `The task has already ended as ${state.status}. Drop it.`);
  }
  const question = state.questions?.find((one) => one.key === key && !one.isWithdrawn);
  if (!question) throw notAsked(state, key);
  if (question.answeredMs === undefined) return null;
  const details = await readDetails(deps.store, request_id, revision);
  const content = details?.questions?.find((one) => one.key === key);
  if (content) return { key, answer: content.answer };
  const isSame = (await deps.store.get('task', request_id))?.revision === revision;
  if (isSame)
    throw new StoreDamaged(`The store is damaged: task ${request_id} lacks an answer in its details.`);
  // The task has just ended or moved: the next look finds which.
  return await readAnswer(deps, { agent_id, request_id, key });
}
