/**
 * What a hostile gateway or agent can write to the operator's terminal: nothing that it obeys, by any
 * command, on any way out. JSON stays the JSON that it was.
 */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from './command-run.ts';
import { AGENT, EVIL, findObeyed, ROW, SUCCESS, startEvilGateway } from './evil-gateway.ts';
import { recordTerminal } from './tmux-terminal.ts';

let gateway: Awaited<ReturnType<typeof startEvilGateway>>;
let env: Record<string, string>;

beforeAll(async () => {
  gateway = await startEvilGateway();
  env = {
    TASK_GATEWAY_URL: gateway.baseUrl,
    TASK_GATEWAY_AUTH: 'a-secret',
    TASK_GATEWAY_ADMIN_AUTH: 'b-secret',
  };
});

afterAll(() => gateway?.close());

const ESCAPE = '\u001b';
/** Every command that shows what a gateway sent. */
const LINES: readonly string[] = [
  ...['run x -t y', 'task submit x -t y', 'task get ok', 'task get problem', 'task get failed --debug'],
  ...['task wait failed', 'task wait pending --for 1.5', 'task cancel x', 'task list', 'agent list'],
  ...['events s -n 1', 'doctor', 'run x -t y -o json --debug', 'task list -o json', 'agent list -o jsonl'],
  ...['doctor -o json'],
];

test('a terminal gets nothing that it obeys but the colours and the status line', {
  tags: 'tmux',
}, async () => {
  const words = LINES.map((line) => `'${line}'`).join(' ');
  const script = `'${process.execPath}' '${join(import.meta.dirname, 'many-commands.ts')}' ${words}`;
  const raw = await recordTerminal({ PATH: process.env.PATH ?? '', ...env }, script);
  const own = new RegExp(`${ESCAPE}\\[(?:1|2|22|31|32|33|36|39)m|\\r${ESCAPE}\\[K|\\r\\n`, 'g');
  expect(findObeyed(raw.replaceAll(own, '\n'))).toBeUndefined();
  // The texts themselves arrived, without what was removed.
  expect(raw).toContain('x0;ty');
  expect(raw.split('x0;ty').length).toBeGreaterThan(LINES.length);
});

test('a file gets JSON in which everything a terminal obeys is escaped, and which is the same JSON', async () => {
  const [list, agents, got, events, submitted] = await Promise.all([
    runCommand('task list -o json', { env }),
    runCommand('agent list -o jsonl', { env }),
    runCommand('task get ok -o json --debug', { env }),
    runCommand('events s -n 1', { env }),
    runCommand('task get problem', { env }),
  ]);
  for (const { stdout, stderr } of [list, agents, got, events, submitted]) {
    expect(findObeyed(stdout)).toBeUndefined();
    expect(findObeyed(stderr)).toBeUndefined();
  }
  expect(JSON.parse(list.stdout)).toEqual([ROW, ROW]);
  // Also its layout is that of the whole list, although it is written task by task.
  expect(list.stdout.replaceAll(/\\u\w{4}/g, (escaped) => JSON.parse(`"${escaped}"`))).toBe(
    `${JSON.stringify([ROW, ROW], null, 2).replaceAll(/\\u\w{4}/g, (escaped) => JSON.parse(`"${escaped}"`))}\n`,
  );
  expect(JSON.parse(agents.stdout)).toEqual(AGENT);
  expect(JSON.parse(got.stdout)).toEqual(SUCCESS);
  expect(JSON.parse(events.stdout)).toMatchObject({ error_info: EVIL });
  expect(got.stderr).toContain('\\u009b35m');
  expect(submitted).toMatchObject({ code: 2, stdout: '' });
});

test('plain output that goes to a file is what the agent wrote, unchanged', async () => {
  const { code, stdout } = await runCommand('run x -t y', { env });
  expect({ code, stdout }).toEqual({ code: 0, stdout: `${EVIL}\n` });
});
