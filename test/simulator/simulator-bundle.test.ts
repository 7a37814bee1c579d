/** The simulator as it is published: one module that imports nothing but Node's own, and runs tasks. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type * as Sdk from '../../sdk/index.ts';
import type * as Simulator from '../../server/simulator/index.ts';
import { readBlocks } from '../harness/readme-blocks.ts';

const ROOT = join(import.meta.dirname, '../..');
let folder: string;
let code: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'task-gateway-simulator-'));
  const args = [
    'server/simulator/bundle.vite.ts',
    '--logLevel',
    'warn',
    '--configLoader',
    'native',
    '--outDir',
    folder,
  ];
  const vite = join(ROOT, 'node_modules/.bin/vite');
  const built = spawnSync(process.execPath, [vite, 'build', '--config', ...args, '--emptyOutDir'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  if (built.status !== 0) throw new Error(built.stderr);
  code = readFileSync(join(folder, 'index.js'), 'utf8');
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** An agent dies after half of a task, another one does the next. */
async function tryOut(sdk: typeof Sdk, simulator: typeof Simulator): Promise<readonly unknown[]> {
  const world = simulator.createSimulator({ pushSecrets: ['whsec_c2lnbnM='], seed: 5 });
  const client = sdk.createClient({ ...world.options, adminAuth: world.adminAuth });
  await world.agents.add({ tags: ['pdf'], agent_id: 'dies', does: 'die', after: 30 });
  const task = { task_type: 't', task_tags: ['pdf'], payload: { text: '你好' }, cli_session_id: 's' };
  const { request_id } = await client.submitTask(task, { idempotencyKey: 'k' });
  await world.clock.advance(600);
  const died = await client.getTask(request_id);
  await world.agents.add({ tags: ['pdf'], agent_id: 'works', after: 5, progress: [10] });
  const { result } = await world.clock.runUntil(client.runTask(task));
  const { agents } = await client.listAgents({ limit: 5 });
  const wrong = await client.submitTask({ ...task, task_tags: 'pdf' as never }).catch((error) => error.code);
  const lines = world.transcript().split('\n');
  const signed = lines.find((line) => line.includes('"kind":"push"')) ?? '';
  return [
    died.error_info,
    died.progress,
    result,
    agents.map((one) => one.agent_id),
    wrong,
    request_id,
    signed,
  ];
}

const EXPECTED = ['timeout', 50, { output: 'done' }, ['dies', 'works'], 'validation_failed'];

test('The package has no dependencies, and its page shows what the page of the SDK runs.', () => {
  const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
  const manifest = JSON.parse(read('server/simulator/package.json'));
  expect([manifest.dependencies, manifest.peerDependencies, manifest.optionalDependencies]).toEqual([
    ...[undefined, undefined, undefined],
  ]);
  const [block] = readBlocks(read('server/simulator/README.md'));
  expect(read('sdk/TESTING.md')).toContain(block?.text);
});

describe('the bundle', () => {
  test('imports nothing but modules of Node', () => {
    // The samples in the document it holds import the SDK.
    const imports = ts.preProcessFile(code, true, false).importedFiles.map(({ fileName }) => fileName);
    expect(imports.filter((name) => !isBuiltin(name))).toEqual([]);
    expect(readFileSync(join(folder, 'LICENSES.md'), 'utf8')).toContain('light-my-request');
  });

  test('runs tasks with the same ids and signatures as the sources', async () => {
    const sdk = await import('../../sdk/index.ts');
    const sources = await tryOut(sdk, await import('../../server/simulator/index.ts'));
    expect(sources.slice(0, 5)).toEqual(EXPECTED);
    const bundled = await import(/* @vite-ignore */ join(folder, 'index.js'));
    expect(await tryOut(sdk, bundled)).toEqual(sources);
  });
});
