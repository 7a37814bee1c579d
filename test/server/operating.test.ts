/**
 * What OPERATING.md says is so: its commands are run, its sentences compared with the code. A backup is taken
 * while tasks are submitted, restored, and compared.
 */
import { execFile, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { openFile } from '../../server/engines/sqlite/connection.ts';
import { REASONS } from '../../server/http/probes.ts';
import { get, submit } from '../e2e/plain-calls.ts';
import { type GatewayProcess, SECRET, startGateway } from '../harness/gateway-process.ts';
import { readBlocks } from '../harness/readme-blocks.ts';

const ROOT = new URL('../..', import.meta.url).pathname;
const PAGE = readFileSync(join(ROOT, 'server/OPERATING.md'), 'utf8');
const blocks = readBlocks(PAGE);
const run = promisify(execFile);
/** Three starts of a gateway and one of npm, on a machine with other work. */
const SLOW = { timeout: 300_000 };

let folder: string;
let gateways: GatewayProcess[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'task-gateway-operating-'));
  gateways = [];
  for (const path of ['etc', 'var/lib/task-gateway', 'var/backups']) {
    mkdirSync(join(folder, path), { recursive: true });
  }
});
afterEach(async () => {
  for (const gateway of gateways) await gateway.stop();
  rmSync(folder, { recursive: true, force: true });
});

const database = (): string => join(folder, 'var/lib/task-gateway/gateway.db');
const backup = (): string => join(folder, 'var/backups/gateway.db');

/** Creates a database as a gateway does, and changes it. */
function createDatabase(path: string, sql = ''): void {
  const sqlite = openFile(path);
  sqlite.exec(sql);
  sqlite.close();
}

async function start(env: Readonly<Record<string, string>> = {}): Promise<GatewayProcess> {
  const gateway = await startGateway({ STORE: `sqlite:${database()}`, ...env });
  gateways.push(gateway);
  return gateway;
}

/** Runs a block of the page with its folders below that of the test. */
async function runBlock(role: string, replaced: Readonly<Record<string, string>> = {}): Promise<string> {
  const found = blocks.filter((block) => block.role === role);
  expect(found, role).toHaveLength(1);
  let script = found[0]?.text ?? '';
  const folders = { '/etc/': join(folder, 'etc/'), '/var/': join(folder, 'var/') };
  for (const [text, by] of Object.entries({ ...folders, ...replaced })) script = script.replaceAll(text, by);
  const path = `${dirname(process.execPath)}:${process.env.PATH ?? ''}`;
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', script], {
    cwd: ROOT,
    env: { ...process.env, PATH: path },
  });
  return stdout;
}

async function statusOf(url: string, init?: RequestInit): Promise<number> {
  const response = await fetch(url, init);
  await response.arrayBuffer();
  return response.status;
}

test('Every command is run by a test, or says why not.', () => {
  const known = 'secret windows doctor health metrics backup restore ask traced otel rolling'.split(' ');
  for (const { language, role, text } of blocks) {
    expect(language).toBe(role === 'otel' ? 'js' : 'sh');
    if (role === 'not-run') expect(text).toMatch(/^# Not run by a test: \S/);
    else expect(known).toContain(role);
  }
  expect(blocks.length).toBeGreaterThan(6);
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  expect(`exec ${blocks.find(({ role }) => role === 'windows')?.text}`).toBe(`${scripts.start}\n`);
});

test('The files and sections that the page links to exist, and its list of contents is whole.', () => {
  const sections = [...PAGE.matchAll(/^## (.+)$/gm)].map(([, title = '']) => title);
  const anchors = sections.map(
    (title) =>
      `#${title
        .toLowerCase()
        .replaceAll(/[^\w ]/g, '')
        .replaceAll(' ', '-')}`,
  );
  const links = [...PAGE.matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => link);
  for (const link of links) {
    if (link.startsWith('#')) expect(anchors).toContain(link);
    else expect(existsSync(join(ROOT, 'server', link.replace(/#.*/, ''))), link).toBe(true);
  }
  for (const anchor of anchors) expect(links).toContain(anchor);
});

test('The commands make secrets that only their owner reads, and ask a gateway how it is and what it counts.', {
  tags: 'curl',
}, async () => {
  await runBlock('secret');
  const file = join(folder, 'etc/task-gateway/secrets');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readFileSync(file, 'utf8')).toMatch(/^GATEWAY_AUTH=[0-9a-f]{64}\nADMIN_AUTH=[0-9a-f]{64}\n$/);
  const gateway = await start({ GATEWAY_AUTH_FILE: file, ADMIN_AUTH_FILE: file });
  const replaced = { 'http://127.0.0.1:8080': gateway.baseUrl };
  const command = `'${process.execPath}' sdk/cli/main.ts`;
  const called = { 'npx task-gateway': command, secrets: `secrets --url ${gateway.baseUrl}` };
  expect(await runBlock('doctor', called)).toContain('No agent is registered');
  expect(await runBlock('health', replaced)).toContain('{"status":"ok"}');
  expect(await runBlock('metrics', replaced)).toMatch(/^task_gateway_store_up 1$/m);
});

describe('backup', () => {
  test(
    'of a gateway that is used has all that was acknowledged before, and can be restored',
    SLOW,
    async () => {
      const gateway = await start();
      const before = await Promise.all(
        Array.from({ length: 60 }, (_, n) =>
          submit(gateway.baseUrl, { payload: { n, text: '文'.repeat(n * 50) } }),
        ),
      );
      const during: Promise<string>[] = [];
      let isOver = false;
      const submitting = (async () => {
        while (!isOver) {
          during.push(submit(gateway.baseUrl));
          await during.at(-1);
        }
      })();
      const printed = await runBlock('backup');
      isOver = true;
      await submitting;
      const [said] = /[^\n]* bytes, checked: .*/.exec(printed) ?? [];
      const [, shown = ''] = /It prints `(.+?)`/.exec(PAGE) ?? [];
      const counted = said?.replaceAll(/\d+ (?=bytes|open|agents)/g, 'N ');
      expect(counted).toBe(shown.replace('COPY', backup()).replace('FILE', database()));
      expect(statSync(backup()).mode & 0o777).toBe(0o600);
      expect(readdirSync(dirname(backup()))).toEqual(['gateway.db']);
      const stored = await Promise.all(before.map((id) => get(gateway.baseUrl, `/api/cli/tasks/${id}`)));
      const last = await submit(gateway.baseUrl);
      await gateway.stop();
      await runBlock('restore');
      const restored = await start();
      expect(await Promise.all(before.map((id) => get(restored.baseUrl, `/api/cli/tasks/${id}`)))).toEqual(
        stored,
      );
      const headers = { authorization: `Bearer ${SECRET}` };
      expect(await statusOf(`${restored.baseUrl}/api/cli/tasks/${last}`, { headers })).toBe(404);
      expect(during.length).toBeGreaterThan(0);
    },
  );

  test.each([
    ['that exists', () => backup(), /exists already/],
    ['that is not named', () => '', /It takes one file/],
    [
      'in a folder that does not exist',
      () => join(folder, 'none/gateway.db'),
      /There is no folder (\S+none): create it first \(mkdir -p '\1'\)/,
    ],
    ['in a file', () => join(backup(), 'x'), /gateway\.db is not a folder: name a file in another folder/],
    ['in a folder that takes none', () => '/proc/gateway.db', /\/proc takes no new file .*another folder/],
  ])('to a file %s copies nothing and says why', async (_which, nameOf, words) => {
    createDatabase(database());
    writeFileSync(backup(), 'mine');
    const name = nameOf();
    const given = ['--import', './server/node-version.js', 'server/backup.ts', ...(name ? [name] : [])];
    const { status, stderr } = spawnSync(process.execPath, given, {
      cwd: ROOT,
      encoding: 'utf8',
      env: { STORE: `sqlite:${database()}` },
    });
    expect([status, stderr]).toEqual([1, expect.stringMatching(words)]);
    expect(stderr).toContain('Nothing was copied');
    expect(readFileSync(backup(), 'utf8')).toBe('mine');
  });

  test.each([
    ['that counts wrongly', 'UPDATE count SET agents = 1', /copied.*counts 0 open tasks and 1 agents/s],
    ['of another format', 'PRAGMA user_version = 2', /copied.*format version 2, .* version 1\./s],
  ])('of a database %s is refused', async (_which, sql, words) => {
    createDatabase(database(), sql);
    await expect(runBlock('backup')).rejects.toThrow(words);
    expect(readdirSync(dirname(backup()))).toEqual([]);
  });
});

test('The questions to the file have answers while a gateway uses it.', async () => {
  const gateway = await start();
  await submit(gateway.baseUrl, { queue_timeout: 60 });
  const { text = '' } = blocks.find(({ role }) => role === 'ask') ?? {};
  const sqlite = new DatabaseSync(database(), { readOnly: true });
  const questions = [...text.matchAll(/^ask "(.+)"$/gm)].map(([, sql = '']) => sqlite.prepare(sql));
  // No agent is registered, and nothing has written output.
  await vi.waitFor(() => expect(questions.map((one) => one.all().length)).toEqual([1, 1, 0, 0]));
  sqlite.close();
});

test('The page’s tracing library, loaded as it says, prints the spans of a task.', async () => {
  // The library is found from where the file is.
  const modules = mkdtempSync(join(ROOT, 'node_modules/.cache/task-gateway-otel-'));
  try {
    const file = join(modules, 'otel.mjs');
    writeFileSync(file, blocks.find(({ role }) => role === 'otel')?.text ?? '');
    const command = blocks.find(({ role }) => role === 'traced')?.text ?? '';
    const [, options = ''] = /^NODE_OPTIONS='(.*)' npm start\n$/.exec(command) ?? [];
    expect(options).toContain('./otel.mjs');
    const gateway = await start({ NODE_OPTIONS: options.replace('./otel.mjs', file), STORE: 'memory:' });
    const id = await submit(gateway.baseUrl);
    await vi.waitFor(() => expect(gateway.output()).toContain("name: 'match'"), { timeout: 60_000 });
    expect(gateway.output()).toContain("name: 'submit'");
    expect(gateway.output()).toContain(`'task_gateway.request_id': '${id}'`);
  } finally {
    rmSync(modules, { recursive: true, force: true });
  }
});

test('While a secret is rotated both are accepted, and afterwards the old one is not.', async () => {
  const submitAs = async (gateway: GatewayProcess, auth: string): Promise<number> =>
    statusOf(`${gateway.baseUrl}/api/cli/tasks`, {
      method: 'POST',
      body: JSON.stringify({ auth, task_type: 'x', task_tags: [], payload: {} }),
    });
  const listAs = (gateway: GatewayProcess, auth: string): Promise<number> =>
    statusOf(`${gateway.baseUrl}/api/admin/tasks`, { headers: { 'X-Admin-Auth': `${auth}-admin` } });
  const [old, fresh] = ['the-old-secret-of', 'the-new-secret-of'];
  const both = {
    GATEWAY_AUTH: `${fresh} ${old}`,
    ADMIN_AUTH: `${fresh}-admin ${old}-admin`,
  };
  const during = await start({ ...both, STORE: 'memory:' });
  const after = await start({
    GATEWAY_AUTH: fresh,
    ADMIN_AUTH: `${fresh}-admin`,
    STORE: 'memory:',
  });
  for (const call of [submitAs, listAs]) {
    expect([await call(during, old), await call(during, fresh)]).toEqual([200, 200]);
    expect([await call(after, old), await call(after, fresh)]).toEqual([401, 200]);
  }
});

const UNIT = readFileSync(join(ROOT, 'server/operating/task-gateway.service'), 'utf8');

test('The unit for systemd starts what npm start does.', () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  expect(UNIT).toContain(`ExecStart=${scripts.start.replace('exec ', '/usr/bin/')}\n`);
  // Its HOST is a loopback address, which a proxy opens to others.
  expect(UNIT).toMatch(/^Environment=.* HOST=127\.0\.0\.1 /m);
  expect(UNIT).toMatch(/^Environment=.* AGENT_AUTH=required$/m);
});

test('systemd finds nothing wrong with the unit.', { tags: 'systemd-analyze' }, () => {
  // It wants the program and the folder to be there.
  const file = join(folder, 'task-gateway.service');
  writeFileSync(file, UNIT.replace('/usr/bin/node', process.execPath).replace('/opt/task-gateway', ROOT));
  const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' });
  expect([status, stdout, stderr.split('\n').filter((line) => line.includes('task-gateway'))]).toEqual([
    0,
    '',
    [],
  ]);
});

test('The table of readiness has every reason, and no other.', () => {
  const [, section = ''] = /## Is it well\?([\s\S]*?)^## /m.exec(PAGE) ?? [];
  const rows = [...section.matchAll(/^\| `([^`]+)` \| .* \| .* \|$/gm)]
    .map(([, reason = '']) => reason)
    .filter((reason) => reason !== 'reason');
  expect(rows.sort()).toEqual(['draining', ...Object.values(REASONS)].sort());
});

test('What a gateway prints that does not start is in the table, with its advice.', async () => {
  const [, table = ''] = PAGE.split('## When it does not start');
  const taken = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => taken.once('listening', resolve));
  const { port } = taken.address() as { port: number };
  const foreign = join(folder, 'foreign.db');
  const newer = join(folder, 'newer.db');
  const other = new DatabaseSync(foreign);
  other.exec('CREATE TABLE t (a)');
  other.close();
  createDatabase(newer, 'PRAGMA user_version = 99');
  const failures: readonly (readonly [Readonly<Record<string, string>>, string])[] = [
    [{ PORT: 'x' }, 'Mistakes in the settings'],
    [{ PORT: String(port) }, 'in use by another process'],
    [{ HOST: '192.0.2.1' }, 'This machine does not have the address'],
    [{ STORE: `sqlite:${foreign}` }, 'belongs to another program'],
    [{ STORE: `sqlite:${newer}` }, 'has format version'],
    [{ STORE: `sqlite:${newer}/gateway.db` }, 'is not a folder'],
    [{ STORE: `sqlite:${folder}` }, 'is a folder'],
  ];
  await Promise.all(
    failures.map(async ([env, words]) => {
      expect(table).toContain(words);
      await expect(startGateway(env), words).rejects.toThrow(words);
    }),
  );
  taken.close();
});
