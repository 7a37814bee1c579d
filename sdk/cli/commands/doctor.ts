/** `doctor`: looks whether everything between here and an agent works, and says what to do where it doesn't. */
import type { Command } from 'commander';
import { createAgent } from '../../agent/index.ts';
import { systemClock } from '../../clock.ts';
import type { Task, TaskDone } from '../../contract.ts';
import { TaskGatewayError } from '../../errors.ts';
import { createId } from '../../ids.ts';
import type { Connection } from '../connection.ts';
import { CommandError, EXITS, judgeError } from '../exit-codes.ts';
import { renderJson } from '../terminal/outcome.ts';
import type { Colour, Screen } from '../terminal/terminal.ts';
import {
  checkAgents,
  checkGateway,
  checkSecret,
  explainSilence,
  type Finding,
  judgeClock,
  right,
  wrong,
} from './checks.ts';
import { connectFor, type Desk, formatFor } from './context.ts';

const ROUND_TRIP_MS = 10_000;
/** What travels there and back; not only ASCII, since that is where things break. */
const WORDS = 'there and back: 你好';
const MARKS: Readonly<Record<Finding['state'], readonly [mark: string, colour: Colour]>> = {
  right: ['✓', 'green'],
  wrong: ['✗', 'red'],
  note: ['–', 'yellow'],
};

const EXAMPLES = `
It runs one task through an agent of its own, which is there for a second and has a tag nobody else has.
Exit code: 0 when nothing is wrong, 4 when a secret is, 1 otherwise.

Example:
  $ task-gateway doctor --url https://gateway.example`;

/** Adds `doctor`. */
export function addDoctorCommand(program: Command, desk: Desk): void {
  program
    .command('doctor')
    .summary('check the way to the gateway, the secrets, the stream and the agents')
    .description('Checks everything between here and an agent, and says what to do.')
    .addHelpText('after', EXAMPLES)
    .action(async (_options: unknown, command: Command) => {
      const connection = connectFor(desk, command);
      const format = formatFor(command);
      const found: Finding[] = [];
      for await (const finding of examine(connection, desk.interrupts.first)) {
        found.push(finding);
        if (format === 'table') await desk.screen.print(renderFinding(desk.screen, finding));
        if (format === 'jsonl') await desk.screen.print(renderJson(finding, format));
      }
      if (format === 'json') await desk.screen.print(renderJson(found, format));
      judgeAll(found);
    });
}

/** Finding by finding; what makes no sense after one that is wrong is left out. */
async function* examine(
  connection: Connection,
  signal: AbortSignal,
): AsyncGenerator<Finding, void, undefined> {
  const gateway = await checkGateway(connection, signal);
  yield* gateway;
  if (gateway[0]?.state === 'wrong') return;
  const secret = await checkSecret(connection, signal);
  yield secret;
  yield* await checkAgents(connection, signal);
  if (secret.state !== 'wrong') yield* await makeRoundTrip(connection, signal);
}

function renderFinding({ out }: Screen, { state, text, advice }: Finding): string {
  const [mark, colour] = MARKS[state];
  return `${out.paint(colour, mark)} ${text}${advice && ` ${advice}`}\n`;
}

function judgeAll(found: readonly Finding[]): void {
  const bad = found.filter(({ state }) => state === 'wrong');
  if (bad.length === 0) return;
  const isSecret = bad.some(({ check }) => check === 'gateway secret' || check === 'admin secret');
  const count = bad.length === 1 ? 'One thing is' : `${bad.length} things are`;
  throw new CommandError(isSecret ? EXITS.auth : EXITS.other, `${count} wrong: see the lines marked ✗.`);
}

/** A task to an agent of its own, which claims it, and back by the stream alone. */
async function makeRoundTrip(connection: Connection, outer: AbortSignal): Promise<readonly Finding[]> {
  const { reach, client } = connection;
  const name = `doctor-${createId()}`;
  const signal = AbortSignal.any([outer, AbortSignal.timeout(ROUND_TRIP_MS)]);
  const agent = createAgent({
    ...{ ...reach, agentId: name, tags: [name], lostAfterSeconds: null },
    handler: ({ payload }) => ({ output: String(payload.words) }),
  });
  try {
    const registered = agent.start();
    const beforeMs = systemClock.nowMs();
    await Promise.race([registered, rejectOnAbort(signal)]);
    const { task, done, submitMs } = await sendThrough(connection, name, signal);
    const clock = judgeClock(task.create_time, submitMs.before, submitMs.after);
    if (!done) return [clock, await explainSilence(client, task.request_id, ROUND_TRIP_MS / 1_000)];
    return [clock, judgeEvent(done, systemClock.nowMs() - beforeMs)];
  } catch (error) {
    if (outer.aborted || !(error instanceof TaskGatewayError)) throw error;
    return [wrong('round trip', `No task went through: ${judgeError(error).text}`, '')];
  } finally {
    await agent.stop({ drainMs: 0 });
  }
}

/** Submits once the stream is open, and waits for the event as long as the signal allows. */
async function sendThrough({ client }: Connection, name: string, signal: AbortSignal) {
  let tellOpen: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    tellOpen = resolve;
  });
  const events = client.subscribeEvents(name, {
    signal,
    onNotice: (notice) => notice.kind === 'open' && tellOpen(),
  });
  const first = readFirst(events);
  await Promise.race([opened, first, rejectOnAbort(signal)]);
  const before = systemClock.nowMs();
  const task: Task = await client.submitTask(
    { task_type: 'doctor', task_tags: [name], payload: { words: WORDS }, cli_session_id: name, timeout: 30 },
    { signal },
  );
  const after = systemClock.nowMs();
  const done = await first.catch((error: unknown) => {
    if (signal.aborted) return undefined;
    throw error;
  });
  return { task, done, submitMs: { before, after } };
}

async function readFirst(events: AsyncIterable<TaskDone>): Promise<TaskDone | undefined> {
  for await (const event of events) return event;
  return undefined;
}

function judgeEvent({ status, result, error_info }: TaskDone, tookMs: number): Finding {
  if (status === 'success' && result?.output === WORDS) {
    return right(
      'round trip',
      `A task went to an agent and its event came back by the stream (${tookMs} ms).`,
    );
  }
  const text = `A task went through, but not well: ${error_info ?? JSON.stringify(result)}.`;
  return wrong('round trip', text, 'Something between changes what is sent; try without the proxy.');
}

function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const fail = (): void =>
      reject(new TaskGatewayError('timeout', `Nothing came within ${ROUND_TRIP_MS / 1_000} s.`));
    if (signal.aborted) fail();
    signal.addEventListener('abort', fail, { once: true });
  });
}
