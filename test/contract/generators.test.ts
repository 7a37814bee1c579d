/**
 * Public generators make clients of the gateway, of its administration and of an agent from the published
 * documents, without a warning. The clients compile strictly, all in one program, and the programs of the
 * page over those of the gateway run, and send the secret as a header alone.
 */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DEFAULT_GATEWAY_AUTH } from '../../server/config/settings.ts';
import { type GatewayProcess, SECRET, startGateway } from '../harness/gateway-process.ts';
import { readBlocks } from '../harness/readme-blocks.ts';
import { FOREIGN_MODULES, findTool, type ToolName } from '../harness/tools.ts';
import { foreignGenerators, type Generator, generators, openapiTypescript } from './clients.ts';
import { PAGE, readSections } from './generator-page.ts';
import { type Recorder, startRecorder } from './recorder.ts';
import { runNode } from './run-tool.ts';

const modules = join(import.meta.dirname, '../../node_modules');
const openapi = join(import.meta.dirname, '../../generated/openapi');

/** Each with the folder of its packages. */
const tried = [
  ...generators.map((generator) => ({ ...generator, packages: modules, tags: [] as ToolName[] })),
  ...foreignGenerators.map((generator) => ({
    ...generator,
    packages: FOREIGN_MODULES,
    tags: ['generators'] as ToolName[],
  })),
];
const documents = [
  ['gateway', 'clients-and-agents.3.1.json'],
  ['admin', 'admin.3.1.json'],
  ['agent', 'agent.3.1.json'],
] as const;

const compilerOptions = {
  strict: true,
  target: 'es2022',
  lib: ['es2022', 'dom', 'dom.iterable'],
  module: 'esnext',
  moduleResolution: 'bundler',
  noEmit: true,
  types: ['node'],
  typeRoots: [join(modules, '@types')],
  // What the clients import is not of these documents.
  skipLibCheck: true,
};

/** It has the fields that `TaskSubmission` requires, and no others. */
const SMALLEST_SUBMISSION = `
  import type { components } from './client';
  export const submission: components['schemas']['TaskSubmission'] = {
    ...{ auth: 'secret', task_type: 'echo', task_tags: ['upper'], payload: {} },
  };
`;

let gateway: GatewayProcess;
let recorder: Recorder;
let folder: string;
/** What each generator printed for each document, or the compiler for all. */
const results = new Map<string, { readonly code: number; readonly output: string }>();

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'task-gateway-clients-'));
  gateway = await startGateway();
  recorder = await startRecorder(gateway.baseUrl);
  // What the clients import.
  if (findTool('generators') !== null) symlinkSync(FOREIGN_MODULES, join(folder, 'node_modules'));
  const { dependencies } = JSON.parse(readFileSync(join(FOREIGN_MODULES, '../package.json'), 'utf8'));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module', dependencies }));
  await generateAll();
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*/**/*.ts'] }));
  await keepResult('compiler', [join(modules, 'typescript/bin/tsc'), '-p', '.'], folder);
}, 240_000);
afterAll(async () => {
  recorder.stop();
  await gateway.stop();
  rmSync(folder, { recursive: true });
});

/** Two at a time: each uses one core. */
async function generateAll(): Promise<void> {
  const runnable = tried.filter(({ tags }) => tags.every((tag) => findTool(tag) !== null));
  const jobs = runnable.flatMap((generator) =>
    documents.map(
      ([of, name]) =>
        () =>
          generate(generator, of, join(openapi, name)),
    ),
  );
  const work = async (): Promise<void> => {
    for (let job = jobs.shift(); job; job = jobs.shift()) await job();
  };
  await Promise.all([work(), work()]);
}

async function generate(
  { name, packages, command, options, files, schema }: Generator & { packages: string },
  of: 'gateway' | 'admin' | 'agent',
  document: string,
): Promise<void> {
  const own = join(folder, buildFolderName(name), of);
  mkdirSync(own, { recursive: true });
  for (const [file, text] of Object.entries(files?.(document, of, recorder.url) ?? {}))
    writeFileSync(join(own, file), text);
  await keepResult(`${name}, ${of}`, [join(packages, command), ...options(document)], own);
  if (of === 'gateway') writeFileSync(join(own, 'call.ts'), buildProgram(name, schema));
}

/**
 * The program of the page with the recorder's address and this gateway's secret. It prints its task as JSON
 * behind what it prints on the page, then whether the schema of a task refuses a progress that is a text.
 */
function buildProgram(name: string, schema: Generator['schema']): string {
  const { program = '' } = readSections().find((section) => section.name === name) ?? {};
  const own = program.replace('http://127.0.0.1:8080', recorder.url).replace(DEFAULT_GATEWAY_AUTH, SECRET);
  const check = schema && `!written.${schema.name}.safeParse({ ...task, progress: 'all' }).success`;
  return `${own}
    ${schema ? `import * as written from '${schema.from}';` : ''}
    const progress: number = task.progress;
    console.log(JSON.stringify({ ...task, progress }));
    console.log(${check ?? true});
  `;
}

async function keepResult(what: string, args: readonly string[], cwd: string): Promise<void> {
  const { code, output, errors } = await runNode(args, cwd);
  results.set(what, { code, output: output + errors });
}

/** A scope is no folder of its own. */
function buildFolderName(name: string): string {
  return name.replace(/^@.*\//, '');
}

/** The files in TypeScript that a generator wrote for the gateway, the program over them left out. */
function readClient(name: string): readonly string[] {
  const own = join(folder, buildFolderName(name), 'gateway');
  const files = readdirSync(own, { recursive: true, encoding: 'utf8' });
  return files
    .filter((file) => file.endsWith('.ts') && file !== 'call.ts')
    .map((file) => readFileSync(join(own, file), 'utf8'));
}

/** The commands that a package brings, with the script of each. */
function readCommands(manifest: string): Readonly<Record<string, string>> {
  const { name, bin } = JSON.parse(readFileSync(manifest, 'utf8'));
  return typeof bin === 'string' ? { [name]: bin } : bin;
}

for (const { name, tags, packages, command } of tried) {
  describe(name, { tags }, () => {
    test.each(documents)('makes a client of the %s without a warning', (of) => {
      const { code, output = '' } = results.get(`${name}, ${of}`) ?? {};
      expect(code, output).toBe(0);
      expect(output).not.toMatch(/warn|deprecat|duplicate|collision|conflict|unsupported|error/i);
    });

    test('knows the events of the stream', () => {
      expect(readClient(name).filter((text) => /\btask_?done\b/i.test(text))).not.toEqual([]);
    });

    test('is the command of the page, and its client imports what the page says', () => {
      const section = readSections().find((other) => other.name === name);
      const own = section?.installed[0]?.name ?? '';
      const script = readCommands(join(packages, own, 'package.json'))[section?.command ?? ''] ?? '';
      expect(join(own, script)).toBe(command);
      const imports = readClient(name).flatMap((text) => text.match(/(?<=\bfrom ['"])[^.'"][^'"]*/g) ?? []);
      const imported = imports.map((path) => /^(@[^/]+\/)?[^/]+/.exec(path)?.[0]);
      expect([...new Set(imported)].sort()).toEqual(section?.imported.map((other) => other.name));
    });

    test('makes clients that compile', () => {
      const { output = 'It was not run.' } = results.get('compiler') ?? {};
      const own = output.split('\n').filter((line) => line.startsWith(`${buildFolderName(name)}/`));
      expect(own.join('\n')).toBe('');
    });

    test('makes a client with which the program of the page submits a task and reads it, with the secret in no URL', {
      // The command that runs it is installed with the foreign generators.
      tags: 'generators',
    }, async () => {
      const own = join(folder, buildFolderName(name), 'gateway');
      recorder.calls.length = 0;
      const { code, output, errors } = await runNode(
        [join(FOREIGN_MODULES, 'tsx/dist/cli.mjs'), 'call.ts'],
        own,
      );
      expect(code, output + errors).toBe(0);
      const [printed, json = '', refuses] = output.split('\n');
      const [, promised] = /it prints `([^`]+)`/.exec(PAGE) ?? [];
      expect({ printed, refuses }).toEqual({ printed: promised, refuses: 'true' });
      const task = JSON.parse(json);
      const url = `${gateway.baseUrl}/api/cli/tasks/${task.request_id}`;
      const stored = await fetch(url, { headers: { authorization: `Bearer ${SECRET}` } });
      expect(task).toEqual(await stored.json());
      const sent = recorder.calls.map(({ line, headers }) => [
        line,
        headers.authorization,
        headers['x-admin-auth'],
      ]);
      expect(sent).toEqual([
        ['POST /api/cli/tasks', `Bearer ${SECRET}`, undefined],
        [`GET /api/cli/tasks/${task.request_id}?wait=5`, `Bearer ${SECRET}`, undefined],
      ]);
    });
  });
}

test('all clients compile together', () => {
  expect(results.get('compiler')).toEqual({ code: 0, output: '' });
});

test('openapi-typescript makes a submission without `timeout` wrong by default, and right with its flag', async () => {
  const options = openapiTypescript.options(join(openapi, documents[0][1]));
  const compile = async (kind: string, given: readonly string[]): Promise<string> => {
    const own = join(folder, kind);
    mkdirSync(own);
    await runNode([join(modules, openapiTypescript.command), ...given], own);
    writeFileSync(join(own, 'use.ts'), SMALLEST_SUBMISSION);
    const flags = ['--strict', '--noEmit', '--skipLibCheck', '--typeRoots', own];
    return (await runNode([join(modules, 'typescript/bin/tsc'), ...flags, 'use.ts'], own)).output;
  };
  const isKept = (option: string): boolean => !option.startsWith('--default-non-nullable');
  const [before = '', after = ''] =
    readBlocks(PAGE)
      .find(({ role }) => role === 'default-flags')
      ?.text.trim()
      .split(' … ') ?? [];
  const refused = (await compile('by-default', options.filter(isKept))).trim();
  expect(refused).toContain(before);
  expect(refused.endsWith(`: ${after}`), refused).toBe(true);
  expect(await compile('with-flag', options)).toBe('');
});
