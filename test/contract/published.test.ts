/** Whether the published files are fresh, pass the linters and can be used as they are. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { components } from '@task-gateway/contract';
import { describe, expect, test } from 'vitest';
import { correctGatewayDocument, mergePush } from '../../spec/corrections.ts';
import { type Json, listOperations, requireObject } from '../../spec/document.ts';
import { writeForGenerators } from '../../spec/generator-forms.ts';
import { lintWithRedocly } from './redocly.ts';
import { runNode } from './run-tool.ts';

const root = join(import.meta.dirname, '../..');
const openapi = join(root, 'generated/openapi');
const documents = [
  ...['clients-and-agents.3.1.json', 'clients-and-agents.3.2.json', 'admin.3.1.json'],
  ...['agent.3.1.json', 'agent.3.2.json', 'simulator.3.1.json'],
];

function readDocument(name: string): Json {
  return JSON.parse(readFileSync(join(openapi, name), 'utf8'));
}

test('the versions of the document and of its package are the same', () => {
  const { version } = JSON.parse(readFileSync(join(root, 'generated/package.json'), 'utf8'));
  for (const name of documents) expect(requireObject(readDocument(name), 'info').version, name).toBe(version);
});

test('3.2 differs from 3.1 only in the streams', () => {
  const streams = [
    ['/api/cli/events', 'EventFrames'],
    ['/api/cli/tasks/{request_id}/output', 'OutputFrames'],
  ] as const;
  const [plain, streamed] = ['clients-and-agents.3.1.json', 'clients-and-agents.3.2.json'].map((name) => {
    const document = readDocument(name);
    for (const [path, frames] of streams) {
      const content = requireObject(document, 'paths', path, 'get', 'responses', '200', 'content');
      expect(content).toHaveProperty('text/event-stream');
      content['text/event-stream'] = {};
      const schemas = requireObject(document, 'components', 'schemas');
      for (const name of [frames, frames.slice(0, -1)]) delete schemas[name];
    }
    return { ...document, openapi: '' };
  });
  expect(streamed).toEqual(plain);
});

describe('lint', () => {
  const paths = documents.map((name) => join(openapi, name));

  test('the documents satisfy Redocly', async () => {
    expect(await lintWithRedocly(...paths)).toBe('');
  });

  test('the documents satisfy Spectral and the OWASP rules', async () => {
    const spectral = join(root, 'node_modules/@stoplight/spectral-cli/dist/index.js');
    const options = ['--ruleset', 'spec/.spectral.yaml', '--fail-severity', 'hint'];
    const { code, output, errors } = await runNode([spectral, 'lint', ...options, ...paths]);
    expect(code, output + errors).toBe(0);
  });
});

test.each(documents)('no two names of %s are one without their punctuation', (name) => {
  const document = readDocument(name);
  const bare = (names: readonly unknown[]): readonly string[] =>
    names.map((one) =>
      String(one)
        .replaceAll(/[^a-z0-9]/gi, '')
        .toLowerCase(),
    );
  const operations = [...listOperations(document)].map(({ operation }) => operation);
  const lists: readonly (readonly unknown[])[] = [
    operations.map(({ operationId }) => operationId),
    Object.keys(requireObject(document, 'components', 'schemas')),
    ...operations.map(({ parameters }) =>
      (Array.isArray(parameters) ? parameters : []).map((one: Json) => one.name ?? one.$ref),
    ),
  ];
  for (const list of lists) expect(bare(list), list.join()).toHaveLength(new Set(bare(list)).size);
});

describe('the corrections', () => {
  test('fail on a document that needs none', () => {
    expect(() => correctGatewayDocument(readDocument('task-gateway.3.1.json'))).toThrow('no longer fits');
  });

  test('for generators fail on a document that has their forms', () => {
    expect(() => writeForGenerators(readDocument('task-gateway.3.1.json'))).toThrow('not one');
  });

  test('fail when the two services mean different things by one name', () => {
    const agent = readDocument('agent.3.1.json');
    delete requireObject(agent, 'components', 'schemas', 'TaskInfo', 'properties').payload;
    expect(() => mergePush(readDocument('task-gateway.3.1.json'), agent)).toThrow('TaskInfo differs');
  });
});

describe('the package', () => {
  const program = `
    import type { components, operations, paths } from '@task-gateway/contract';
    import type { operations as agentOperations } from '@task-gateway/contract/agent';
    import document from '@task-gateway/contract/openapi.json' with { type: 'json' };
    import adminDocument from '@task-gateway/contract/openapi.admin.json' with { type: 'json' };

    type TaskInfo = components['schemas']['TaskInfo'];
    type Path = keyof paths;
    export const path: Path = '/api/cli/tasks';
    export const status: TaskInfo['status'] = 'pending';
    // @ts-expect-error a task has no such status
    export const wrong: TaskInfo['status'] = 'cancelled';
    export const minimal: operations['submitTask']['requestBody']['content']['application/json'] = {
      auth: '', task_type: '', task_tags: [], payload: { any: { thing: 1 } },
    };
    export const pushed: agentOperations['pushTask']['requestBody']['content']['application/json']['agent_id'] = null;
    export const versions: string[] = [document.info.version, adminDocument.info.version];
  `;

  test.each([
    { module: 'nodenext', moduleResolution: 'nodenext' },
    { module: 'esnext', moduleResolution: 'bundler' },
  ])('type-checks where modules are resolved as $moduleResolution', async (options) => {
    const folder = mkdtempSync(join(tmpdir(), 'task-gateway-user-'));
    try {
      mkdirSync(join(folder, 'node_modules/@task-gateway'), { recursive: true });
      symlinkSync(join(root, 'generated'), join(folder, 'node_modules/@task-gateway/contract'));
      writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
      writeFileSync(join(folder, 'main.ts'), program);
      const compilerOptions = {
        ...options,
        target: 'es2022',
        strict: true,
        noEmit: true,
        types: [],
        resolveJsonModule: true,
      };
      writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['main.ts'] }));
      const { code, output } = await runNode([join(root, 'node_modules/typescript/bin/tsc'), '-p', folder]);
      expect(code, output).toBe(0);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

test('the example of the overview is one that a gateway can send', () => {
  const operation = requireObject(
    readDocument('task-gateway.3.1.json'),
    'paths',
    '/api/admin/overview',
    'get',
  );
  const { content } = requireObject(operation, 'responses', '200');
  const { examples } = requireObject({ content }, 'content', 'application/json');
  const [shown] = Object.values(requireObject({ examples }, 'examples'));
  const { value } = requireObject({ shown }, 'shown');
  const overview = value as components['schemas']['GatewayOverview'];
  const { tasks, slots, agents, ended, series, tags, oldest_waiting, problems } = overview;
  const sum = (counts: readonly number[]): number => counts.reduce((total, one) => total + one, 0);
  expect(sum(series.success)).toBe(ended.success);
  expect(sum(series.no_agent)).toBe(ended.no_agent);
  expect(sum(series.failed)).toBe(ended.failed + ended.timeout + ended.agent_lost);
  expect([series.waiting.at(-1), series.running.at(-1)]).toEqual([tasks.waiting, tasks.running]);
  expect(oldest_waiting).toHaveLength(Math.min(5, tasks.waiting));
  expect(agents.ready + agents.processing + agents.draining + agents.offline).toBe(agents.total);
  const ofTags = problems.filter(({ tag }) => tag !== null);
  expect(ofTags.length).toBeGreaterThan(0);
  const named = JSON.stringify(ofTags).matchAll(/\\?`([^`\\]+)\\?`/g);
  for (const [, name] of named) expect(tags.map(({ tag }) => tag)).toContain(name);
  for (const { agents: having } of tags) expect(having).toBeLessThanOrEqual(agents.total);
  expect(tasks.running).toBe(slots.used);
});
