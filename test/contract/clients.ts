/**
 * Public generators and, for each, a small program over the client that it generates: submit a task, then get
 * it. The program takes the gateway's address and secret as arguments and prints the two responses as one
 * line of JSON.
 */

/** A generator: its command, its options, and the program that uses what it wrote in the folder it ran in. */
export type Generator = {
  readonly name: string;
  /** The package's script, below `node_modules`. */
  readonly command: string;
  options(document: string): readonly string[];
  /** What it reads beside the document, by the files' names in that folder. */
  files?(document: string, of: 'gateway' | 'agent', baseUrl: string): Readonly<Record<string, string>>;
  readonly program: string;
};

/** With its default flags it requires each field of a request that has a default. */
export const openapiTypescript: Generator = {
  name: 'openapi-typescript',
  command: 'openapi-typescript/bin/cli.js',
  options: (document) => [document, '--default-non-nullable=false', '--output', 'client.ts'],
  program: `
    import type { components } from './client';

    const [baseUrl = '', secret = ''] = process.argv.slice(2);
    type Submission = components['schemas']['TaskSubmission'];
    type Task = components['schemas']['TaskInfo'];

    async function call(path: string, body?: Submission): Promise<Task> {
      const headers = { authorization: 'Bearer ' + secret, 'content-type': 'application/json' };
      const sent = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
      const response = await fetch(baseUrl + path, { headers, ...sent });
      if (!response.ok) throw new Error(await response.text());
      return (await response.json()) as Task;
    }

    async function main(): Promise<void> {
      const body = { auth: secret, task_type: 'echo', task_tags: ['no-agent'], payload: { text: '你好' } };
      const submitted = await call('/api/cli/tasks', body);
      const got = await call('/api/cli/tasks/' + submitted.request_id + '?wait=5');
      const progress: number = got.progress;
      console.log(JSON.stringify([submitted, { ...got, progress }]));
    }
    void main();
  `,
};

const heyApi: Generator = {
  name: '@hey-api/openapi-ts',
  command: '@hey-api/openapi-ts/bin/run.js',
  options: (document) => [
    ...['--input', document, '--output', 'client', '--no-log-file'],
    ...['--plugins', '@hey-api/typescript', '@hey-api/sdk', '@hey-api/client-fetch'],
  ],
  program: `
    import { createClient, createConfig } from './client/client/index.js';
    import { getTask, submitTask } from './client/index.js';

    const [baseUrl = '', secret = ''] = process.argv.slice(2);
    const client = createClient(createConfig({ baseUrl, auth: () => secret }));

    async function main(): Promise<void> {
      const body = { auth: secret, task_type: 'echo', task_tags: ['no-agent'], payload: { text: '你好' } };
      const submitted = await submitTask({ client, body, throwOnError: true });
      const { request_id } = submitted.data;
      const got = await getTask({ client, path: { request_id }, query: { wait: 5 }, throwOnError: true });
      const progress: number = got.data.progress;
      console.log(JSON.stringify([submitted.data, { ...got.data, progress }]));
    }
    void main();
  `,
};

const swaggerApi: Generator = {
  name: 'swagger-typescript-api',
  command: 'swagger-typescript-api/dist/cli.mjs',
  options: (document) => ['generate', '--path', document, '--output', '.', '--name', 'client.ts', '--silent'],
  program: `
    import { Api } from './client';

    const [baseUrl = '', secret = ''] = process.argv.slice(2);
    const { api } = new Api({ baseUrl, baseApiParams: { headers: { authorization: 'Bearer ' + secret } } });

    async function main(): Promise<void> {
      const submission = { auth: secret, task_type: 'echo', task_tags: ['no-agent'], payload: { text: '你好' } };
      const { data: submitted } = await api.submitTask(submission);
      const { data: got } = await api.getTask(submitted.request_id, { wait: 5 });
      const progress: number = got.progress;
      console.log(JSON.stringify([submitted, { ...got, progress }]));
    }
    void main();
  `,
};

const typedOpenapi: Generator = {
  name: 'typed-openapi',
  command: 'typed-openapi/bin.js',
  options: (document) => [document, '--output', 'client.ts'],
  program: `
    import { createApiClient, type Fetcher } from './client';

    const [baseUrl = '', secret = ''] = process.argv.slice(2);
    const send: Fetcher['fetch'] = ({ method, url, urlSearchParams, parameters }) => {
      if (urlSearchParams) url.search = urlSearchParams.toString();
      const headers = { authorization: 'Bearer ' + secret, 'content-type': 'application/json' };
      const body = parameters?.body === undefined ? {} : { body: JSON.stringify(parameters.body) };
      return fetch(url, { method, headers, ...body });
    };
    const client = createApiClient({ fetch: send }, baseUrl);

    async function main(): Promise<void> {
      const body = { auth: secret, task_type: 'echo', task_tags: ['no-agent'], payload: { text: '你好' } };
      const submitted = await client.post('/api/cli/tasks', { header: {}, body });
      const { request_id } = submitted;
      const got = await client.get('/api/cli/tasks/{request_id}', { path: { request_id }, query: { wait: 5 } });
      const progress: number = got.progress;
      console.log(JSON.stringify([submitted, { ...got, progress }]));
    }
    void main();
  `,
};

export const generators: readonly Generator[] = [openapiTypescript, heyApi, swaggerApi, typedOpenapi];
