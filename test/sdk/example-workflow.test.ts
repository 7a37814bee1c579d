/**
 * The example of a CI job, ci/workflow.yml: its `run:` steps are executed in their order, in a project that
 * has the packages and contract.test.js, against a mock and a gateway on free ports.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { findFreePort } from '../harness/free-port.ts';
import { EXAMPLES } from './example-process.ts';

const ROOT = join(import.meta.dirname, '../..');
const PACKAGES = [
  ...['@task-gateway/sdk', '@task-gateway/contract', '@task-gateway/server', '@stoplight/prism-cli'],
];

type Step = { readonly name?: string; readonly run?: string; readonly if?: string };

/** Creates a project in which `npm ci` has been run. */
function createProject(): string {
  const project = mkdtempSync(join(tmpdir(), 'task-gateway-workflow-'));
  onTestFinished(() => rmSync(project, { recursive: true, force: true }));
  for (const name of [...PACKAGES, '.bin']) {
    const link = join(project, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules', name), link);
  }
  writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }\n');
  copyFileSync(join(EXAMPLES, 'ci/contract.test.js'), join(project, 'contract.test.js'));
  return project;
}

/** Runs a step as a runner does; what it leaves in the background goes on until the test ends. */
async function runStep(script: string, cwd: string, env: Readonly<Record<string, string>>) {
  const shell = spawn('bash', ['-e', '-o', 'pipefail', '-c', script], {
    cwd,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: `${dirname(process.execPath)}:${process.env.PATH}`, HOME: cwd, ...env },
  });
  let printed = '';
  for (const stream of [shell.stdout, shell.stderr]) stream?.on('data', (text) => (printed += text));
  onTestFinished(() => {
    try {
      process.kill(-Number(shell.pid), 'SIGKILL');
    } catch {
      // Nothing of it runs any more.
    }
  });
  const [code] = await once(shell, 'exit');
  return { code, printed };
}

test('each step of the workflow ends well, and its tests find a wrong secret', { tags: 'curl' }, async () => {
  const { jobs } = parse(readFileSync(join(EXAMPLES, 'ci/workflow.yml'), 'utf8'));
  const steps: readonly Step[] = jobs.contract.steps;
  const env: Record<string, string> = {
    TASK_GATEWAY_AUTH: jobs.contract.env.TASK_GATEWAY_AUTH,
    GATEWAY_PORT: String(await findFreePort()),
    MOCK_PORT: String(await findFreePort()),
    // Here the packages are sources.
    NODE_OPTIONS: '--conditions=task-gateway-source',
  };
  expect(Object.keys(jobs.contract.env)).toEqual(['TASK_GATEWAY_AUTH', 'GATEWAY_PORT', 'MOCK_PORT']);
  const project = createProject();
  const ran: string[] = [];
  for (const { name = '', run, if: condition } of steps) {
    if (run === undefined || run === 'npm ci' || condition === 'failure()') continue;
    const { code, printed } = await runStep(run, project, env);
    expect({ name, code, printed }).toMatchObject({ name, code: 0 });
    ran.push(name);
    if (name.startsWith('Test')) expect(printed).toMatch(name.endsWith('mock') ? /pass 2\n/ : /pass 4\n/);
  }
  expect(ran).toEqual([
    ...['Start the mock', 'Start the gateway', 'Test against the mock', 'Test against the gateway'],
  ]);
  const last = steps.find(({ name }) => name === 'Test against the gateway')?.run ?? '';
  const wrong = await runStep(last, project, { ...env, TASK_GATEWAY_AUTH: 'a-wrong-secret' });
  expect(wrong.code).toBe(1);
  expect(wrong.printed).toContain('unauthorized');
});
