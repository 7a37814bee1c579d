/**
 * More generators, from `generators/`, and the programs that use what they write, as `clients.ts` describes
 * them. Where a generator writes schemas, the program parses the task with one, and says whether the schema
 * refuses a task whose progress is a text.
 */
import type { Generator } from './clients.ts';

const submission = `{ auth: secret, task_type: 'echo', task_tags: ['no-agent'], payload: { text: '你好' } }`;
const start = `const [baseUrl = '', secret = ''] = process.argv.slice(2);`;

const kubb: Generator = {
  name: 'kubb',
  command: '@kubb/cli/bin/kubb.cjs',
  options: () => ['generate', '--config', 'kubb.config.mjs', '--logLevel', 'silent'],
  // It writes no call with a header that is a number, as a push has; an agent needs the schemas alone.
  files: (document, of) => ({
    'kubb.config.mjs': `
      import { defineConfig } from '@kubb/core';
      import { pluginClient } from '@kubb/plugin-client';
      import { pluginOas } from '@kubb/plugin-oas';
      import { pluginTs } from '@kubb/plugin-ts';
      import { pluginZod } from '@kubb/plugin-zod';

      export default defineConfig({
        root: '.',
        input: { path: ${JSON.stringify(document)} },
        output: { path: './client', clean: true, extension: { '.ts': '' } },
        plugins: [
          pluginOas({ generators: [] }),
          pluginTs({ output: { path: './models' } }),
          pluginZod({ output: { path: './schemas' }, version: '3' }),
          ${of === 'gateway' ? `pluginClient({ output: { path: './calls' }, client: 'fetch', bundle: true, parser: 'zod' })` : ''}
        ],
      });
    `,
  }),
  program: `
    import { getTask } from './client/calls/getTask';
    import { submitTask } from './client/calls/submitTask';
    import { taskInfoSchema } from './client/schemas/taskInfoSchema';

    ${start}
    const options = { baseURL: baseUrl, headers: { authorization: 'Bearer ' + secret } };

    async function main(): Promise<void> {
      const submitted = await submitTask(${submission}, undefined, options);
      const got = await getTask(submitted.request_id, { wait: 5 }, options);
      const progress: number = got.progress;
      const refuses = !taskInfoSchema.safeParse({ ...got, progress: 'all' }).success;
      console.log(JSON.stringify([submitted, { ...got, progress }, refuses]));
    }
    void main();
  `,
};

const orval: Generator = {
  name: 'orval',
  command: 'orval/dist/bin/orval.mjs',
  options: () => ['--config', 'orval.config.mjs'],
  files: (document, _of, baseUrl) => ({
    'orval.config.mjs': `export default ${JSON.stringify({
      calls: { input: document, output: { target: 'calls.ts', client: 'fetch', baseUrl } },
      schemas: { input: document, output: { target: 'schemas.ts', client: 'zod' } },
    })};`,
  }),
  program: `
    import { getTask, submitTask } from './calls';
    import { GetTaskResponse } from './schemas';

    ${start}
    const options = { headers: { authorization: 'Bearer ' + secret } };

    async function main(): Promise<void> {
      const submitted = await submitTask(${submission}, options);
      if (submitted.status !== 200) throw new Error(submitted.data.detail);
      const got = await getTask(submitted.data.request_id, { wait: 5 }, options);
      if (got.status !== 200) throw new Error(got.data.detail);
      const parsed = GetTaskResponse.parse(got.data);
      const progress: number = parsed.progress;
      const refuses = !GetTaskResponse.safeParse({ ...parsed, progress: 'all' }).success;
      console.log(JSON.stringify([submitted.data, { ...parsed, progress }, refuses]));
    }
    void main();
  `,
};

const openapiZodClient: Generator = {
  name: 'openapi-zod-client',
  command: 'openapi-zod-client/bin.js',
  options: (document) => [
    ...[document, '--output', 'client.ts', '--export-schemas', '--with-alias'],
    // The default response is an error, not left out with a warning.
    ...['--default-status', 'auto-correct'],
  ],
  program: `
    import { createApiClient, schemas } from './client';

    ${start}
    const client = createApiClient(baseUrl);
    const headers = { authorization: 'Bearer ' + secret };

    async function main(): Promise<void> {
      const submitted = await client.submitTask(${submission}, { headers });
      const got = await client.getTask({
        params: { request_id: submitted.request_id },
        queries: { wait: 5 },
        headers,
      });
      const progress: number = got.progress;
      const refuses = !schemas.TaskInfo.safeParse({ ...got, progress: 'all' }).success;
      console.log(JSON.stringify([submitted, { ...got, progress }, refuses]));
    }
    void main();
  `,
};

const oazapfts: Generator = {
  name: 'oazapfts',
  command: 'oazapfts/dist/cli.js',
  options: (document) => [document, 'client.ts'],
  program: `
    import { ok } from '@oazapfts/runtime';
    import { defaults, getTask, submitTask } from './client';

    ${start}
    defaults.baseUrl = baseUrl;
    defaults.headers = { authorization: 'Bearer ' + secret };

    async function main(): Promise<void> {
      const submitted = await ok(submitTask(${submission}));
      const got = await ok(getTask(submitted.request_id, { wait: 5 }));
      const progress: number = got.progress;
      console.log(JSON.stringify([submitted, { ...got, progress }]));
    }
    void main();
  `,
};

const openapiTypescriptCodegen: Generator = {
  name: 'openapi-typescript-codegen',
  command: 'openapi-typescript-codegen/bin/index.js',
  options: (document) => ['--input', document, '--output', 'client', '--client', 'fetch'],
  program: `
    import { OpenAPI, TasksService } from './client';

    ${start}
    OpenAPI.BASE = baseUrl;
    OpenAPI.HEADERS = { authorization: 'Bearer ' + secret };

    async function main(): Promise<void> {
      const submitted = await TasksService.submitTask(${submission});
      if ('code' in submitted) throw new Error(submitted.detail);
      const got = await TasksService.getTask(submitted.request_id, 5);
      if ('code' in got) throw new Error(got.detail);
      const progress: number = got.progress;
      console.log(JSON.stringify([submitted, { ...got, progress }]));
    }
    void main();
  `,
};

export const foreignGenerators: readonly Generator[] = [
  ...[kubb, orval, openapiZodClient, oazapfts, openapiTypescriptCodegen],
];
