/** Programs of users who have installed the SDK: they import what is published. */

export const AUTH = 'task-gateway-default-secret';

/** A client and a pushed agent, from end to end; prints what they received. */
export const STORY = `import { createClient, NotFoundError, TaskFailedError } from '@task-gateway/sdk';
      import { createAgent } from '@task-gateway/sdk/agent';
      const gateway = { baseUrl: process.env.GATEWAY_URL, auth: '${AUTH}' };
      const client = createClient(gateway);
      const handler = async ({ payload }, { reply }) => { reply('收到'); return { output: payload.text + '！' }; };
      const agent = createAgent({ ...gateway, agentId: 'packed', tags: ['packed'], listen: {}, handler });
      await agent.start();
      const submission = { task_type: 'x', task_tags: ['packed'], payload: { text: '你好' }, cli_session_id: process.version };
      const { request_id, result } = await client.runTask(submission);
      const events = [];
      for await (const event of client.subscribeEvents(process.version)) { events.push(event); break; }
      const none = await client.runTask({ ...submission, task_tags: [], queue_timeout: 0 }).catch((error) => error);
      const missing = await client.getTask('nothing').catch((error) => error);
      await agent.stop();
      const seen = { result, same: events[0].request_id === request_id && events[0].result.output === result.output };
      console.log(JSON.stringify({ ...seen, none: none instanceof TaskFailedError && none.code, missing: missing instanceof NotFoundError }));`;

/** The same entries from CommonJS, without a gateway. */
export const REQUIRED = `const { createClient, NotFoundError } = require('@task-gateway/sdk');
        const { createAgent } = require('@task-gateway/sdk/agent');
        const { runHandler } = require('@task-gateway/sdk/testing');
        const fetch = async () => new Response('{}', { status: 404 });
        const gateway = { baseUrl: 'http://gateway.test', auth: 'x', fetch, logLevel: 'off' };
        const handler = () => 'required';
        createAgent({ ...gateway, tags: ['x'], handler });
        createClient(gateway).getTask('t')
          .then(() => { throw new Error('There is no such task.'); }, (error) => { if (!(error instanceof NotFoundError)) throw error; })
          .then(() => runHandler(handler))
          .then(({ result }) => console.log(result.output))
          .then(() => import('@task-gateway/sdk'))
          .then((sdk) => { if (sdk.createClient !== createClient) throw new Error('It is there twice.'); });`;

/** Reads every entry of the contract that is not only types. */
export const USED_CONTRACT = `const { exports: entries } = require('@task-gateway/contract/package.json');
        const { readFileSync } = require('node:fs');
        const documents = Object.keys(entries).filter((entry) => /openapi/.test(entry));
        if (documents.length < 11) throw new Error('Documents are missing: ' + documents.join());
        for (const entry of documents) {
          const text = readFileSync(require.resolve('@task-gateway/contract' + entry.slice(1)), 'utf8');
          if (!/openapi"?: "?3/.test(text)) throw new Error(entry + ' is not a document.');
        }`;

/** Has the kit check a client by its command: a program that submits the task and polls it. */
export const USED_CONFORMANCE = `const { execFileSync } = require('node:child_process');
        const { writeFileSync } = require('node:fs');
        const { dirname, delimiter } = require('node:path');
        const env = { ...process.env, PATH: [dirname(process.execPath), process.env.PATH].join(delimiter) };
        if (require('@task-gateway/conformance/requirements.json').length < 60) throw new Error('Requirements are missing.');
        async function runTask() {
          const { TASK_GATEWAY_URL: url, TASK_GATEWAY_AUTH: auth, TASK_TYPE: task_type, TASK_TAG: tag, TASK_PAYLOAD: payload } = process.env;
          const submission = { auth, task_type, task_tags: [tag], cli_session_id: '', payload: JSON.parse(payload), timeout: 60 };
          const headers = { 'content-type': 'application/json' };
          const submitted = await fetch(url + '/api/cli/tasks', { method: 'POST', headers, body: JSON.stringify(submission) });
          let task = await submitted.json();
          while (task.status === 'pending' || task.status === 'running')
            task = await (await fetch(url + '/api/cli/tasks/' + task.request_id + '?wait=5&auth=' + auth)).json();
          if (task.status !== 'success') process.exit(1);
          console.log(JSON.stringify(task.result));
        }
        writeFileSync('client.js', runTask + '\\nrunTask();');
        const words = ['@task-gateway/conformance', '--client', '"' + process.execPath + '" client.js', '--only', 'as-client.result'];
        const printed = execFileSync('npx', words, { env, encoding: 'utf8' });
        if (!printed.includes('MUST 1 of 1 applicable')) throw new Error(printed);`;

/** Has a scripted agent do a task in a simulated world, without the SDK. */
export const USED_SIMULATOR = `async function use() {
          const { createSimulator } = await import('@task-gateway/simulator');
          const world = createSimulator();
          const { baseUrl, auth, fetch } = world.options;
          await world.agents.add({ tags: ['x'], after: 30 });
          const body = JSON.stringify({ auth, task_type: 'x', task_tags: ['x'], payload: { text: '你好' } });
          const submitted = await fetch(new Request(baseUrl + '/api/cli/tasks', { method: 'POST', body }));
          const { request_id } = await submitted.json();
          await world.clock.advance(31);
          const headers = { authorization: 'Bearer ' + auth };
          const task = await (await fetch(new Request(baseUrl + '/api/cli/tasks/' + request_id, { headers }))).json();
          if (task.status !== 'success') throw new Error('The task did not end: ' + JSON.stringify(task));
        }
        use().catch((error) => { console.error(error); process.exit(1); });`;

/**
 * Starts the gateway by the command of its package, looks at its pages, submits a task, stops it by a signal
 * to npx, starts it again and finds the task in it; then copies its database.
 */
export const USED_SERVER = `const { spawn, execFileSync } = require('node:child_process');
        const { once } = require('node:events');
        const { statSync } = require('node:fs');
        const { dirname, delimiter } = require('node:path');
        const secret = 'a-gateway-secret-for-the-trial';
        const settings = { PORT: '0', STORE: 'sqlite:./data/gateway.db', GATEWAY_AUTH: secret };
        const PATH = [dirname(process.execPath), process.env.PATH].join(delimiter);
        const env = { ...process.env, ...settings, PATH };
        const NPX = ['--no', '@task-gateway/server'];
        async function start() {
          const child = spawn('npx', NPX, { env, stdio: ['ignore', 'pipe', 'inherit'] });
          let printed = '';
          for await (const text of child.stdout.iterator({ destroyOnReturn: false })) {
            printed += text;
            const [, url] = /"url":"([^"]+)"/.exec(printed) ?? [];
            if (url) return { child, url };
          }
          throw new Error('It ended before it listened: ' + printed);
        }
        async function stop({ child, url }) {
          child.stdout.resume();
          child.kill('SIGTERM');
          await once(child, 'exit');
          const deadline = Date.now() + 15_000;
          while (await fetch(url).then(() => true, () => false)) {
            if (Date.now() > deadline) throw new Error('It goes on after a signal to npx.');
            await new Promise((resolve) => setTimeout(resolve, 50));
          }
        }
        async function read(url, path, init) {
          const response = await fetch(url + path, init);
          if (response.status !== 200) throw new Error(path + ': ' + response.status + ' ' + (await response.text()));
          return response.text();
        }
        async function use() {
          const first = await start();
          for (const path of ['/readyz', '/console/', '/docs', '/docs/swagger-ui-bundle.js', '/openapi.json', '/openapi.admin.json', '/']) await read(first.url, path);
          const submission = { auth: secret, task_type: 'x', task_tags: ['x'], payload: { text: '你好' }, queue_timeout: 600 };
          const headers = { 'content-type': 'application/json' };
          const { request_id } = JSON.parse(await read(first.url, '/api/cli/tasks', { method: 'POST', headers, body: JSON.stringify(submission) }));
          if (statSync('data/gateway.db').mode & 0o077) throw new Error('Others may read the database.');
          await stop(first);
          const second = await start();
          const task = JSON.parse(await read(second.url, '/api/cli/tasks/' + request_id, { headers: { authorization: 'Bearer ' + secret } }));
          if (task.status !== 'pending') throw new Error('The task is lost: ' + JSON.stringify(task));
          execFileSync('npx', [...NPX, 'backup', 'copy.db'], { env, stdio: 'pipe' });
          await stop(second);
        }
        use().catch((error) => { console.error(error); process.exit(1); });`;

/**
 * An agent whose thread is blocked; prints how many heartbeats its gateway, a thread too, received meanwhile.
 */
export const BLOCKED = `import { createServer } from 'node:http';
        import { Worker, isMainThread, parentPort } from 'node:worker_threads';
        import { createAgent } from '@task-gateway/sdk/agent';
        if (!isMainThread) {
          let beats = 0;
          const server = createServer((request, response) => {
            if (request.url.endsWith('/heartbeat')) beats += 1;
            parentPort.postMessage({ beats });
            response.end(JSON.stringify({ ok: true, heartbeat_interval: 1, cancelled_request_ids: [] }));
          });
          server.listen(0, '127.0.0.1', () => parentPort.postMessage({ port: server.address().port }));
        } else {
          const gateway = new Worker(new URL(import.meta.url));
          const { port } = await new Promise((resolve) => gateway.once('message', resolve));
          let beats = 0;
          gateway.on('message', (message) => { beats = message.beats; });
          const reach = { baseUrl: 'http://127.0.0.1:' + port, auth: 'any-secret-will-do' };
          const agent = createAgent({ ...reach, tags: [], endpoint: 'http://agent.test/', handler: () => '' });
          await agent.start();
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_500);
          await new Promise((resolve) => setTimeout(resolve, 300));
          console.log(beats);
          process.exit();
        }`;

/** What the types of the client promise. */
export const PROGRAM = `import { createClient, TaskFailedError, type Task } from '@task-gateway/sdk';
    import type { components } from '@task-gateway/contract';
    const client = createClient({ baseUrl: 'http://127.0.0.1:8080', auth: 'x' });
    const task: components['schemas']['TaskInfo'] = await client.getTask('t') satisfies Task;
    for await (const { status } of client.subscribeEvents('s')) if (status === 'failed') break;
    export const check = (error: unknown) => (error instanceof TaskFailedError ? error.task.error_info : task.status);`;

/** What the types of the agent and the testing entry promise. */
export const AGENT = `import { createAgent, type Handler } from '@task-gateway/sdk/agent';
    const handler: Handler = async (task, { progress }) => { progress(1); return { output: task.task_type }; };
    export const agent = createAgent({ baseUrl: 'http://127.0.0.1:8080', auth: 'x', agentId: 'a', tags: [], handler });
    import { runHandler } from '@task-gateway/sdk/testing';
    export const output: string | undefined = (await runHandler(handler)).result?.output;`;

/** The same of a program that is CommonJS, compiled for Node 16's rules. */
export const COMMONJS = `import { createClient, TaskFailedError, type Task } from '@task-gateway/sdk';
    import { createAgent, type Handler } from '@task-gateway/sdk/agent';
    import { runHandler } from '@task-gateway/sdk/testing';
    import type { components } from '@task-gateway/contract';
    const handler: Handler = ({ task_type }) => task_type;
    createAgent({ auth: 'x', tags: [], handler });
    void runHandler(handler);
    const client = createClient();
    export const read = async (): Promise<components['schemas']['TaskInfo'] & Task> => client.getTask('t');
    export const check = (error: unknown) => error instanceof TaskFailedError && error.task.error_info;`;

/** How users compile these programs: what for, the compiler's options, and which of the files. */
export const COMPILERS = [
  [
    'Node, without the DOM',
    { module: 'nodenext', lib: ['es2022'], types: ['node'] },
    ['program.ts', 'agent.ts'],
  ],
  [
    'CommonJS as node16 has it',
    { module: 'node16', lib: ['es2022'], types: ['node'] },
    ['program.cts', 'agent.ts'],
  ],
  [
    'CommonJS by the oldest rules, which know no exports',
    { module: 'commonjs', moduleResolution: 'node10', lib: ['es2022'], types: ['node'] },
    ['program.cts'],
  ],
  [
    'a bundler for browsers, without Node',
    {
      module: 'esnext',
      moduleResolution: 'bundler',
      lib: ['es2022', 'dom', 'dom.iterable', 'dom.asynciterable'],
      types: [],
    },
    ['program.ts'],
  ],
] as const;
