/** Questions in a real terminal: a person types the answers to `run --stream` and to `task answer`. */
import { describe, expect, test } from 'vitest';
import type { AnswerSchema } from '../../sdk/contract.ts';
import { client, useAgent, useGateway } from './gateway-fixture.ts';
import { typeLine } from './terminal-fixture.ts';
import type { TmuxTerminal } from './tmux-terminal.ts';

useGateway();

/** A prompt that would set a colour and the title, and is HTML besides. */
const PROMPT = 'Deploy\u001b[31m <b>now</b>?\u001b]0;owned\u0007';
const schema: AnswerSchema = {
  type: 'object',
  properties: {
    approve: { type: 'boolean', description: 'It goes\u001b[31m live.' },
    env: { type: 'string', enum: ['test', 'live'], default: 'test' },
    ratio: { type: 'number', minimum: 0.5 },
    count: { type: 'integer', maximum: 9 },
    why: { type: 'string', title: '理由', minLength: 2 },
  },
  required: ['approve', 'ratio', 'why'],
};

useAgent({
  agentId: 'asker',
  tags: ['ask'],
  logLevel: 'off',
  async handler(_task, { ask, write }) {
    const answer = await ask(PROMPT, { key: 'deploy', schema });
    await write(`got ${JSON.stringify(answer)}`);
    return 'done';
  },
});

/** Types a line into a terminal that is wide enough for a question. */
const openWith = (line: string): Promise<TmuxTerminal> => typeLine(line, {}, 120);

function enter({ press }: TmuxTerminal, line: string): void {
  if (line !== '') press(line);
  press('Enter');
}

/** Types a value for each field, wrongly for the first. */
async function answerFields(open: TmuxTerminal): Promise<void> {
  await open.waitForText(/^It goes live\.\napprove \(yes or no\):$/m);
  enter(open, 'maybe');
  await open.waitForText(/That does not do: give yes or no\.\napprove/);
  enter(open, 'yes');
  await open.waitForText(/^env \(one of test, live, empty: test\):$/m);
  enter(open, '');
  await open.waitForText(/^ratio \(a number, 0\.5 or more\):$/m);
  enter(open, '0.75');
  await open.waitForText(/^count \(a whole number, 9 or less, may stay empty\):$/m);
  enter(open, '');
  await open.waitForText(/^理由:$/m);
  enter(open, '好的');
}

const ANSWER = { approve: true, env: 'test', ratio: 0.75, why: '好的' };

/** Submits a task, and waits until it has asked. */
async function submitAsked(): Promise<string> {
  const { request_id } = await client.submitTask({ task_type: 't', task_tags: ['ask'], payload: {} });
  for await (const { question } of client.readOutput(request_id)) if (question) break;
  return request_id;
}

/** The answers in the output of a task, once it has one piece or more. */
async function answersOf(request_id: string): Promise<readonly unknown[]> {
  const answers: unknown[] = [];
  for await (const { answer } of client.readOutput(request_id, { follow: false }))
    if (answer) answers.push(answer.answer);
  return answers;
}

describe('in a terminal', { tags: 'tmux' }, () => {
  test('run --stream asks each field until it is right, and what a terminal obeys stays text', async () => {
    const open = await openWith('task-gateway run x -t ask --stream; echo "exit=$?"');
    await open.waitForText(/^The agent asks: Deploy <b>now<\/b>\?$/m);
    await answerFields(open);
    const screen = await open.waitForText(/exit=0\nready>/, true);
    expect(screen).toContain(`got ${JSON.stringify(ANSWER)}`);
    expect(screen).not.toContain('\u001b[31m');
  });

  test('Ctrl-C within a question of a run cancels its task', async () => {
    const open = await openWith('task-gateway run x -t ask --stream; echo "exit=$?"');
    await open.waitForText(/^approve/m);
    open.press('ye');
    open.press('C-c');
    const screen = await open.waitForText(/exit=130\nready>/);
    expect(screen).toMatch(/Cancelled task \S+\.$/m);
  });

  test('Ctrl-C within task answer, and Ctrl-D, leave the question open', async () => {
    const id = await submitAsked();
    const open = await openWith(`clear; task-gateway task answer ${id} deploy; echo "exit=$?"`);
    await open.waitForText(/^approve/m);
    open.press('C-c');
    await open.waitForText(/exit=130\nready>/);
    enter(open, `clear; task-gateway task answer ${id} deploy; echo "exit=$?"`);
    await open.waitForText(/^approve/m);
    open.press('C-d');
    await open.waitForText(/The question was not answered\.\nexit=2\nready>/);
    expect(await answersOf(id)).toEqual([]);
    await client.answerTask(id, { key: 'deploy', answer: ANSWER });
    await expect.poll(async () => (await client.getTask(id)).status, { timeout: 60_000 }).toBe('success');
  });

  test('a question that another client answers is asked no more, and the run goes on', async () => {
    const open = await openWith('task-gateway run x -t ask --stream; echo "exit=$?"');
    await open.waitForText(/^approve/m);
    const { tasks } = await client.listTasks({ status: ['running'] });
    const id = tasks[0]?.request_id ?? '';
    await client.answerTask(id, { key: 'deploy', answer: { approve: false, ratio: 1, why: '不行' } });
    const screen = await open.waitForText(/exit=0\nready>/);
    expect(screen).toMatch(/"deploy" was answered: \{"approve":false,"ratio":1,"why":"不行"\}/);
    expect(screen).not.toMatch(/^env/m);
  });
});
