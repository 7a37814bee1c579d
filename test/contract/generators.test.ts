/** Public generators make clients from the document that compile strictly and work. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type GatewayProcess, SECRET, startGateway } from '../harness/gateway-process.ts';
import { generators } from './clients.ts';
import { runNode } from './run-tool.ts';

const modules = join(import.meta.dirname, '../../node_modules');
const document = join(import.meta.dirname, '../../generated/openapi/task-gateway.3.1.json');

const compilerOptions = {
  ...{ strict: true, skipLibCheck: false, target: 'es2022', lib: ['es2022', 'dom', 'dom.iterable'] },
  ...{
    module: 'commonjs',
    moduleResolution: 'node10',
    types: ['node'],
    typeRoots: [join(modules, '@types')],
  },
  ...{ outDir: 'built', esModuleInterop: true },
};

let gateway: GatewayProcess;
let folder: string;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(async () => void (await gateway.stop()));
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'task-gateway-client-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

async function run(args: readonly string[]): Promise<string> {
  const { code, output, errors } = await runNode(args, folder);
  expect(code, output + errors).toBe(0);
  return output;
}

test.each(generators)(
  'a client made by $name compiles, submits a task and gets it',
  async (generator) => {
    await run([join(modules, generator.command), ...generator.options(document)]);
    writeFileSync(join(folder, 'package.json'), '{ "type": "commonjs" }');
    writeFileSync(join(folder, 'program.ts'), generator.program);
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['program.ts'] }));
    await run([join(modules, 'typescript/bin/tsc'), '-p', folder]);
    const output = await run(['built/program.js', gateway.baseUrl, SECRET]);
    const [submitted, got] = JSON.parse(output);
    expect(submitted).toMatchObject({
      status: 'pending',
      agent_id: null,
      progress: 0,
      result: null,
      error_info: null,
    });
    expect(got).toEqual({ ...submitted, status: 'failed', error_info: '无可用 Agent' });
  },
  60_000,
);
