/** The TypeSpec sources compile and are formatted, and the checks beside them find what is missing. */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runNode } from './run-tool.ts';

const spec = join(import.meta.dirname, '../../spec');

type Source = { readonly text: string; readonly path: string };
type Host = { readFile(path: string): Promise<Source> };
type Compiler = {
  readonly NodeHost: Host;
  compile(
    host: Host,
    main: string,
    options: { readonly noEmit: boolean },
  ): Promise<{ readonly diagnostics: readonly { readonly code: string; readonly message: string }[] }>;
};

/** Named by a variable, so that its declarations, which fail our compiler settings, are not read. */
const compilerPackage: string = '@typespec/compiler';
const { compile, NodeHost }: Compiler = await import(compilerPackage);

type Edit = { readonly file: string; readonly from: string | RegExp; readonly to: string };

/** Compiles the sources, one of them edited while it is read; returns the diagnostics. */
async function compileWith(edit?: Edit): Promise<readonly string[]> {
  const changed = edit && join(spec, edit.file);
  const host = {
    ...NodeHost,
    readFile: async (path: string) => {
      const source = await NodeHost.readFile(path);
      if (!edit || source.path !== changed) return source;
      const text = source.text.replace(edit.from, edit.to);
      if (text === source.text) throw new Error(`${edit.file} has no ${edit.from} to change.`);
      return { ...source, text };
    },
  };
  const { diagnostics } = await compile(host, join(spec, 'main.tsp'), { noEmit: true });
  return diagnostics.map(({ code, message }) => `${code}: ${message}`);
}

test('the sources compile without a warning', async () => {
  expect(await compileWith()).toEqual([]);
});

test('the sources are formatted', async () => {
  const tsp = join(spec, '../node_modules/.bin/tsp');
  const { code, output, errors } = await runNode([tsp, 'format', '--check', 'spec/**/*.tsp']);
  expect(code, output + errors).toBe(0);
});

describe('the checks report', () => {
  const edits: readonly (Edit & { readonly title: string; readonly says: string })[] = [
    {
      title: 'an operation under another name',
      file: 'tasks.tsp',
      from: '@operationId("getTask")',
      to: '@operationId("readTask")',
      says: 'task-gateway/operation-id: getTask needs @operationId("getTask")',
    },
    {
      title: 'an operation without a summary',
      file: 'tasks.tsp',
      from: '@summary("Get a task")',
      to: '',
      says: 'task-gateway/summary: getTask needs a @summary',
    },
    {
      title: 'an operation without a description of its result',
      file: 'tasks.tsp',
      from: '@returnsDoc("The task as it is now.")',
      to: '',
      says: 'task-gateway/returns-doc: getTask needs a @returnsDoc',
    },
    {
      title: 'an operation without a description',
      file: 'admin-agents.tsp',
      from: /\/\*\*[\s*]*Lists all registered agents[^/]*\*\//,
      to: '',
      says: 'task-gateway/doc: listAgents needs a doc comment',
    },
    {
      title: 'a secret in the query without a 401',
      file: 'tasks.tsp',
      from: /\| Answer<CancelReceipt>\s*\| AnyProblem/,
      to: '| Answer<CancelReceipt>',
      says: 'task-gateway/unauthorized: cancelTask takes a secret but declares no 401',
    },
    {
      title: 'a secret in the body without a 401',
      file: 'claims.tsp',
      from: '| AgentCallProblem',
      to: '| Problem<400, InvalidAgentCall> | Problem<422, ValidationFailed>',
      says: 'task-gateway/unauthorized: claimTask takes a secret but declares no 401',
    },
    {
      title: 'a status without an example',
      file: 'problems.tsp',
      from: '@example(taskTerminal)',
      to: '',
      says: 'task-gateway/example: cancelTask shows no example of 400',
    },
    {
      title: 'a success without an example',
      file: 'claims.tsp',
      from: 'returnType: #{ statusCode: 200, body: claimedTask },',
      to: '',
      says: 'task-gateway/example: claimTask shows no example of 200',
    },
    {
      title: 'a model without a description',
      file: 'tasks.tsp',
      from: '/** A task to submit. */',
      to: '',
      says: 'task-gateway/doc: TaskSubmission needs a doc comment',
    },
    {
      title: 'a field without a description',
      file: 'events.tsp',
      from: '/** The id of the terminal task. */',
      to: '',
      says: 'task-gateway/doc: request_id needs a doc comment',
    },
    {
      title: 'a parameter without a description',
      file: 'task-rows.tsp',
      from: '/** The maximum number of rows. */',
      to: '',
      says: 'task-gateway/doc: limit needs a doc comment',
    },
    {
      title: 'a value of an enum without a description',
      file: 'tasks.tsp',
      from: /\/\*\* Assigned to an agent\. \*\//,
      to: '',
      says: 'task-gateway/doc: running needs a doc comment',
    },
  ];

  test.each(edits)('$title', async ({ says, ...edit }) => {
    expect(await compileWith(edit)).toContain(says);
  });
});
