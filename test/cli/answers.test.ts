/**
 * Questions on the command line, with a real gateway: `task answer` types its values by the schema,
 * `run --stream` in a pipe says how to answer, and on a terminal a person is asked until each field is right.
 */
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { askPerson } from '../../sdk/cli/answering.ts';
import { describeCommand, readAnswer, readField } from '../../sdk/cli/arguments/answer.ts';
import type { AnswerSchema } from '../../sdk/contract.ts';
import { createTestContext, startCommand } from './command-run.ts';
import { client, env, run, useAgent, useGateway } from './gateway-fixture.ts';

useGateway();

const schema: AnswerSchema = {
  type: 'object',
  properties: {
    approve: { type: 'boolean', description: 'The change goes live.' },
    env: { type: 'string', enum: ['test', 'live'], default: 'test' },
    count: { type: 'integer', minimum: 1, maximum: 9 },
    why: { type: 'string', title: 'Reason', minLength: 2, maxLength: 5 },
  },
  required: ['approve'],
};

useAgent({
  agentId: 'asker',
  tags: ['ask'],
  handler: async ({ task_type }, { ask, write }) => {
    await write('half a line');
    return JSON.stringify(
      await ask('Deploy\u001b[31m?', { key: 'deploy', ...(task_type === 'form' && { schema }) }),
    );
  },
});

/** Submits a task, and waits until it has asked. */
async function submit(task_type = 'form'): Promise<string> {
  const { request_id } = await client.submitTask({ task_type, task_tags: ['ask'], payload: {} });
  for await (const { question } of client.readOutput(request_id)) if (question) break;
  return request_id;
}

const resultOf = async (id: string) => {
  const { result } = await client.getTask(id, { wait: 10 });
  return JSON.parse(String(result?.output));
};

test('task answer types each value as the schema says; the same again is a success, another is not.', async () => {
  const id = await submit();
  const values = ['approve=yes', 'count=3', 'env=live', 'why=1234'];
  expect(await run(['task', 'answer', id, 'deploy', ...values])).toEqual({
    code: 0,
    stdout: `Answered "deploy" of task ${id}.\n`,
    stderr: '',
  });
  expect(await resultOf(id)).toEqual({ approve: true, count: 3, env: 'live', why: '1234' });
  expect(await run(`task answer ${id} deploy approve=no`)).toMatchObject({ code: 1, stdout: '' });
});

test('A task that asks is listed, counted, named by the overview and explained until it is answered.', async () => {
  const id = await submit('listed');
  const list = (...words: readonly string[]) =>
    run(['task', 'list', '--waiting-for-answer', '--type', 'listed', ...words]);
  expect((await list()).stdout).toMatch(/ running, asks +0 +listed +ask +asker/);
  const { stdout: counts } = await list('--count');
  expect(counts).toMatch(/^Tasks +1$/m);
  expect(counts).toMatch(/^For an answer +1$/m);
  const { stdout: overview } = await run('overview');
  expect(overview).toMatch(/^Tasks +0 waiting, \d+ running, \d+ of these waits? for an answer$/m);
  expect(overview).toMatch(
    /^· \d+ tasks? waits? for an answer[:.] .*agent `asker` asked for `deploy` .* ago/m,
  );
  expect(overview).toMatch(/^ {2}Answer with "task-gateway task answer [\w-]+ <key>", or cancel it\.$/m);
  const explain = async (): Promise<string> => (await run(`task explain ${id}`)).stdout;
  const open = await explain();
  expect(open).toMatch(/^ASKED +ANSWERED +KEY +QUESTION *$/m);
  expect(open).toMatch(/^[\d:T.-]+Z +– +deploy +Deploy.*\? *$/m);
  expect(open).toContain(`"task-gateway task answer ${id} <key>"`);
  const dryRun = [
    ...['task', 'cancel', '--filter', 'waiting_for_answer=true', '--filter', 'type=listed', '--dry-run'],
  ];
  expect((await run(dryRun)).stdout).toMatch(/\b1\b/);
  expect(await run(`task answer ${id} deploy --json 1`)).toMatchObject({ code: 0 });
  expect(await resultOf(id)).toBe(1);
  expect(await explain()).toMatch(/^[\d:T.-]+Z +[\d:T.-]+Z +deploy +Deploy/m);
  expect(await list()).toMatchObject({ code: 0, stdout: '', stderr: 'No task matches.\n' });
});

test('key:=json and --json give JSON; -o json prints the receipt.', async () => {
  const one = await submit();
  expect(await run(`task answer ${one} deploy approve:=false -o json`)).toMatchObject({
    code: 0,
    stdout: `${JSON.stringify({ ok: true, request_id: one, key: 'deploy' }, null, 2)}\n`,
  });
  const other = await submit('free');
  expect(await run(`task answer ${other} deploy --json "because"`)).toMatchObject({ code: 0 });
  expect([await resultOf(one), await resultOf(other)]).toEqual([{ approve: false }, 'because']);
});

test('Wrong answers have exit code 2, an unknown question 1, an unknown task 7; the question stays open.', async () => {
  const id = await submit();
  const wrong: readonly (readonly string[])[] = [
    ['approve=maybe'],
    ['approve=yes', 'count=ten'],
    ['approve=yes', 'approve=no'],
    ['approve'],
    ['count=3'],
    ['approve=yes', 'other=1'],
    ['--json', '{'],
    ['approve=yes', '--json', '{}'],
    [],
  ];
  for (const values of wrong) {
    const { code, stderr } = await run(['task', 'answer', id, 'deploy', ...values]);
    expect([values, code]).toEqual([values, 2]);
    expect(stderr).toMatch(/^task-gateway: .*\n$/);
  }
  expect((await run(`task answer ${id} other a=1`)).stderr).toContain('It has asked "deploy".');
  expect(await run(`task answer ${id} other a=1`)).toMatchObject({ code: 1 });
  expect(await run('task answer unknown deploy a=1')).toMatchObject({ code: 7 });
  await client.cancelTask(id);
  expect(await run(`task answer ${id} deploy approve=yes`)).toMatchObject({ code: 1 });
});

test('run --stream in a pipe says how to answer, and task output shows question and answer.', async () => {
  const command = startCommand('run form -t ask --stream', { env });
  await command.waitForLog(/Answer it with: (.+)/);
  const [, line = ''] = /Answer it with: (.+)/.exec(command.stderr()) ?? [];
  expect(line).toMatch(/^task-gateway task answer \S{36} deploy approve=…$/);
  expect(command.stderr()).toContain('The agent asks: Deploy');
  expect(command.stderr()).not.toContain('\u001b');
  const [, , , id = ''] = line.split(' ');
  expect(await run(`task answer ${id} deploy approve=no`)).toMatchObject({ code: 0 });
  expect(await command.waitForExit()).toMatchObject({ code: 0, stdout: 'half a line' });
  const { stderr, stdout } = await run(`task output ${id}`);
  expect(stdout).toBe('half a line');
  expect(stderr).toContain('"deploy" was answered: {"approve":false}');
});

/** Asks a person who types these lines; null ends the input. */
async function ask(lines: readonly string[], question = { key: 'k', prompt: 'p', schema }) {
  const { context, written } = createTestContext();
  const stdin = new Readable({ read() {} });
  let isOver = false;
  const asked = askPerson({ ...context, stdin }, question, new AbortController().signal).finally(() => {
    isOver = true;
  });
  let read = 0;
  for (const line of [...lines, null]) {
    // A person types when asked.
    await expect.poll(() => isOver || written.stderr.length > read, { interval: 1 }).toBe(true);
    read = written.stderr.length;
    stdin.push(line === null ? null : `${line}\n`);
  }
  return { answer: await asked, log: written.stderr };
}

test('A person is asked for each field until it is right; empty takes the default, or leaves it out.', async () => {
  const { answer, log } = await ask(['perhaps', 'Y', '', '12', '3', 'x', 'ok']);
  expect(answer).toEqual({ approve: true, env: 'test', count: 3, why: 'ok' });
  expect(log).toContain('The change goes live.\napprove (yes or no):\n');
  expect(log).toContain('That does not do: give yes or no.');
  expect(log).toContain('env (one of test, live, empty: test):');
  expect(log).toContain('That does not do: give 9 or less.');
  expect(log).toContain('Reason (may stay empty):');
  expect((await ask(['no', 'live', '', ''])).answer).toEqual({ approve: false, env: 'live' });
});

test('The end of the input, and the signal, leave a question open.', async () => {
  expect((await ask(['yes'])).answer).toBeUndefined();
  const { context } = createTestContext();
  const stdin = new Readable({ read() {} });
  const controller = new AbortController();
  const asked = askPerson({ ...context, stdin }, { key: 'k', prompt: 'p' }, controller.signal);
  controller.abort();
  expect(await asked).toBeUndefined();
  expect(
    await askPerson({ ...context, stdin }, { key: 'k', prompt: 'p' }, controller.signal),
  ).toBeUndefined();
});

test('Each keyword of a schema is held when a text is read.', () => {
  const read = (field: Parameters<typeof readField>[0], text: string) => {
    const found = readField(field, text);
    return 'value' in found ? found.value : found.fault;
  };
  expect(read({ type: 'number', minimum: 0.5 }, '0.25')).toBe('give 0.5 or more');
  expect(read({ type: 'number' }, '')).toBe('give a number');
  expect(read({ type: 'number' }, '-1e3')).toBe(-1_000);
  expect(read({ type: 'integer' }, '1.5')).toBe('give a whole number');
  for (const type of ['integer', 'number'] as const)
    expect(read({ type }, ' 653247040368672768')).toBe('it would arrive as 653247040368672800');
  expect(read({ type: 'integer' }, '-007')).toBe(-7);
  expect(read({ type: 'string', maxLength: 1 }, '😀')).toBe('😀');
  expect(read({ type: 'string', enum: ['a', 'b'] }, 'c')).toBe('give one of a, b');
  expect(read(undefined, '1')).toBe('1');
  expect(readAnswer(['a=1', 'b:=[2]'], undefined)).toEqual({ a: '1', b: [2] });
  expect(describeCommand('id', { key: "a'b c", prompt: 'p' })).toBe(
    "task-gateway task answer id 'a'\\''b c' --json …",
  );
});
