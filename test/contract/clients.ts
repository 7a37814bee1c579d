/**
 * Public generators of clients. The program over what each of them wrote stands on the page "Generate a
 * client": it submits a task and reads it back into `task`.
 */

/** A generator: its command and its options, in the folder it runs in. */
export type Generator = {
  readonly name: string;
  /** The package's script, below `node_modules`. */
  readonly command: string;
  options(document: string): readonly string[];
  /** What it reads beside the document, by the files' names in that folder. */
  files?(
    document: string,
    of: 'gateway' | 'admin' | 'agent',
    baseUrl: string,
  ): Readonly<Record<string, string>>;
  /** If it writes schemas: that of a task, as a name in the file from which it is imported. */
  readonly schema?: { readonly from: string; readonly name: string };
};

/** With its default flags it requires each field of a request that has a default. */
export const openapiTypescript: Generator = {
  name: 'openapi-typescript',
  command: 'openapi-typescript/bin/cli.js',
  options: (document) => [document, '--default-non-nullable=false', '--output', 'client.ts'],
};

const heyApi: Generator = {
  name: '@hey-api/openapi-ts',
  command: '@hey-api/openapi-ts/bin/run.js',
  options: (document) => [
    ...['--input', document, '--output', 'client', '--no-log-file'],
    ...['--plugins', '@hey-api/typescript', '@hey-api/sdk', '@hey-api/client-fetch'],
  ],
};

const swaggerApi: Generator = {
  name: 'swagger-typescript-api',
  command: 'swagger-typescript-api/dist/cli.mjs',
  options: (document) => ['generate', '--path', document, '--output', '.', '--name', 'client.ts', '--silent'],
};

const typedOpenapi: Generator = {
  name: 'typed-openapi',
  command: 'typed-openapi/bin.js',
  options: (document) => [document, '--output', 'client.ts'],
};

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
          ${of !== 'agent' ? `pluginClient({ output: { path: './calls' }, client: 'fetch', bundle: true, parser: 'zod' })` : ''}
        ],
      });
    `,
  }),
  schema: { from: './client/schemas/taskInfoSchema', name: 'taskInfoSchema' },
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
  schema: { from: './schemas', name: 'GetTaskResponse' },
};

const openapiZodClient: Generator = {
  name: 'openapi-zod-client',
  command: 'openapi-zod-client/bin.js',
  options: (document) => [
    ...[document, '--output', 'client.ts', '--export-schemas', '--with-alias'],
    // The default response is an error, not left out with a warning.
    ...['--default-status', 'auto-correct'],
  ],
  schema: { from: './client', name: 'schemas.TaskInfo' },
};

const oazapfts: Generator = {
  name: 'oazapfts',
  command: 'oazapfts/dist/cli.js',
  options: (document) => [document, 'client.ts'],
};

const openapiTypescriptCodegen: Generator = {
  name: 'openapi-typescript-codegen',
  command: 'openapi-typescript-codegen/bin/index.js',
  options: (document) => ['--input', document, '--output', 'client', '--client', 'fetch'],
};

/** Those that this repository installs with its other development tools. */
export const generators: readonly Generator[] = [openapiTypescript, heyApi, swaggerApi, typedOpenapi];
/** Those of `generators/`, which CI alone installs. */
export const foreignGenerators: readonly Generator[] = [
  ...[kubb, orval, openapiZodClient, oazapfts, openapiTypescriptCodegen],
];
