/** Carries out those operations of a model run that are about the output of a task, and its questions. */
import type { NewQuestion } from '../../server/domain/question.ts';
import { GatewayError } from '../../server/ports/gateway.ts';
import { NEVER, type World } from '../harness/world.ts';
import { listRunning, nameAgent } from './model-agents.ts';
import type { ModelHistory } from './model-history.ts';
import { AGENTS, type Operation } from './operations.ts';

/** The writers that have a call under way: each has one at a time. */
const writing = new WeakMap<World, Set<string>>();
/** Who began last, by task: a writer that was replaced does not begin again. */
const begun = new WeakMap<World, Map<string, string>>();

/**
 * Writes one piece, a text or a question, of the first running task of the agent, or of the next one that has
 * any.
 */
export async function writeCall(
  world: World,
  history: ModelHistory,
  operation: Extract<Operation, { op: 'write' | 'ask' }>,
): Promise<void> {
  const { agent: first, restarts } = operation;
  let agent = first;
  let request_id: string | undefined;
  for (let n = 0; n < AGENTS && request_id === undefined; n += 1) {
    agent = (first + n) % AGENTS;
    [request_id] = await listRunning(world.store, agent);
  }
  if (request_id === undefined) return;
  const name = `${nameAgent(agent)} ${history.written.get(request_id)?.length ?? 0}`;
  const present = begun.get(world) ?? new Map();
  begun.set(world, present);
  const writer = restarts ? name : (present.get(request_id) ?? 'w');
  const question = operation.op === 'ask' ? { key: operation.key, prompt: operation.prompt } : undefined;
  const piece = JSON.stringify(question ? { question } : { text: name });
  const busy = writing.get(world) ?? new Set();
  writing.set(world, busy);
  if (busy.has(`${request_id} ${writer}`)) return;
  busy.add(`${request_id} ${writer}`);
  try {
    const by = { request_id, agent_id: nameAgent(agent), writer };
    if (!(await writeBehind(world, by, piece, question))) return;
    present.set(request_id, writer);
  } finally {
    busy.delete(`${request_id} ${writer}`);
  }
  history.written.set(request_id, [...(history.written.get(request_id) ?? []), piece]);
  if (question) history.asked.push({ request_id, key: question.key });
}

/**
 * Writes a piece behind those of a writer that does not know how many it sent: the refusal says where to go
 * on. Returns whether it was accepted.
 */
async function writeBehind(
  { gateway }: World,
  by: { readonly request_id: string; readonly agent_id: string; readonly writer: string },
  piece: string,
  question: NewQuestion | undefined,
): Promise<boolean> {
  const write = (from: number) => {
    const questions = question ? [{ ...question, at: from }] : [];
    return gateway.writeOutput({ ...by, from, pieces: [piece], questions });
  };
  const far = 1_000_000;
  const refused = await write(far).catch((error: unknown) => error);
  const next = /^must be at most (\d+)/.exec(refused instanceof Error ? refused.message : '')?.[1];
  if (next === undefined)
    throw refused instanceof Error ? refused : new GatewayError('busy', 'It has ended.');
  return (await write(Number(next))).accepted;
}

/** Gives one of the questions an answer, or claims it for the agent that has the task. */
export async function answerCall(
  { gateway, store }: World,
  { asked, answered }: ModelHistory,
  operation: Extract<Operation, { op: 'answer' | 'claimAnswer' }>,
): Promise<void> {
  const question = asked.at(-1 - (operation.question % Math.max(1, asked.length)));
  if (!question) return;
  if (operation.op === 'answer') {
    const { answer } = operation;
    await gateway.answerTask({ ...question, answer });
    answered.push({ ...question, answer });
    return;
  }
  const agent_id = (await store.get('task', question.request_id))?.value.agent_id ?? nameAgent(0);
  const { wait } = operation;
  const claim = async (): Promise<void> => {
    const found = await gateway.claimAnswer({ agent_id, ...question, wait }, NEVER);
    if (found) answered.push({ ...question, answer: found.answer });
  };
  if (wait === 0) await claim();
  else claim().catch(() => undefined);
}
