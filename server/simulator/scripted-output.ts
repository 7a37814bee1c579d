/**
 * Writes what a script says to the output of a task: texts and data, then questions, one after the other. If
 * the script has an answer, the simulator sends it as a person would.
 *
 *   text, data ──► question ──► claim, until there is an answer ──► the next question, or the report
 *                     ╰── after ──► the script's answer
 */
import { hash } from 'node:crypto';
import type { Clock } from '../ports/clock.ts';
import type { AgentScript } from './agent-script.ts';
import { type CallApi, callUntilHeard } from './script-calls.ts';

type Deps = { readonly clock: Clock; readonly call: CallApi };

/** Who writes, and to which task. */
type OutputWriting = {
  readonly agent_id: string;
  readonly script: AgentScript;
  readonly request_id: string;
  /** The name of the writer. Each process of an agent has another. */
  readonly writer: string;
  /** Fires when the agent stops working on the task. */
  readonly signal: AbortSignal;
  /** Fires when the script ends. Until then answers are sent, even if the agent is gone. */
  readonly end: AbortSignal;
};

/** How long a claim waits for an answer before it is repeated. */
const CLAIM_SECONDS = 20;

/**
 * Writes each piece in a call of its own, and waits for the answers. `over`: the agent has stopped or has
 * lost the task. `refused`: the gateway refused a question.
 */
export async function writeOutput(
  deps: Deps,
  writing: OutputWriting,
): Promise<'written' | 'over' | { readonly refused: string }> {
  const { agent_id, script, request_id, writer, signal } = writing;
  const { output = [], asks = [], after = 0 } = script;
  let from = 0;

  async function write(piece: object): ReturnType<typeof callUntilHeard> {
    const body = { agent_id, request_id, writer, from, pieces: [piece] };
    const heard = await callUntilHeard(deps, '/api/agent/output', body, signal);
    if (heard?.status === 200) from = Number(heard.body.next);
    return heard;
  }

  for (const piece of output) {
    await deps.clock.sleep((after / (output.length + 1)) * 1_000, signal);
    await write(typeof piece === 'string' ? { text: piece } : { data: piece });
  }
  const nameQuestion = createNames();
  for (const { prompt, schema, answer, after, key = nameQuestion(prompt, schema) } of asks) {
    const heard = await write({ question: { key, prompt, schema } });
    if (heard?.status === 422) {
      return { refused: `The question was refused: ${JSON.stringify(heard.body.errors)}` };
    }
    if (!(await awaitAnswer(deps, writing, { key, answer, after }))) return 'over';
  }
  return 'written';
}

type ScriptedQuestion = NonNullable<AgentScript['asks']>[number];

/** Creates keys for questions without one, as the SDK's agent would. */
function createNames() {
  const counts = new Map<string, number>();
  return (prompt: string, schema: ScriptedQuestion['schema']): string => {
    const content = JSON.stringify({ prompt, schema });
    const count = (counts.get(content) ?? 0) + 1;
    counts.set(content, count);
    return `${hash('sha256', content, 'hex').slice(0, 16)}-${count}`;
  };
}

/** The answer that the script has for a question, if any. */
type ScriptedAnswer = Pick<ScriptedQuestion, 'answer' | 'after'> & { readonly key: string };

/** Claims the answer until there is one. Resolves with false if the agent stops, or loses the task. */
async function awaitAnswer(deps: Deps, writing: OutputWriting, scripted: ScriptedAnswer): Promise<boolean> {
  const { agent_id, request_id, signal } = writing;
  const claim = { agent_id, request_id, key: scripted.key, wait: CLAIM_SECONDS };
  const closed = new AbortController();
  void sendAnswer(deps, writing, scripted, closed.signal);
  for (;;) {
    const heard = await callUntilHeard(deps, '/api/agent/answer', claim, signal);
    if (heard?.status === 204) continue;
    // If the agent is gone, the question stays open.
    if (heard) closed.abort('answered, or over');
    return heard?.status === 200;
  }
}

/**
 * Sends the script's answer as a person would. Does nothing if there is none, or the question is closed
 * first.
 */
async function sendAnswer(
  deps: Deps,
  { request_id, end }: OutputWriting,
  { key, answer, after = 0 }: ScriptedAnswer,
  closed: AbortSignal,
): Promise<void> {
  if (answer === undefined) return;
  await deps.clock.sleep(after * 1_000, closed);
  if (closed.aborted) return;
  await callUntilHeard(deps, `/api/cli/tasks/${request_id}/answer`, { key, answer }, end);
}
