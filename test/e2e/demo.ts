/**
 * The whole service in one terminal, in less than a minute: a gateway, an agent, and a client that submits
 * tasks, sees progress, a result, a failure, a cancellation and a task for which there is no agent, has all
 * events replayed to a new subscription, and reads an output through a cut and a kill. `npm run demo`; it
 * needs nothing but this repository and ends by itself. `npm run demo -- --console` is another one: a busy
 * gateway for its console, until it is stopped. `--port NUMBER` is the gateway's port in both; without it any
 * free one.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type AgentNotice, createAgent, type Handler } from '../../sdk/agent/index.ts';
import { createClient, type Task, TaskFailedError, type TaskGatewayClient } from '../../sdk/index.ts';
import { startGateway } from '../harness/gateway-process.ts';
import { readScriptOptions } from '../harness/script-options.ts';
import { runConsoleDemo } from './demo-console.ts';
import { runOutputDemo } from './demo-output.ts';

const SESSION = '演示-demo';
const STEP_MS = 450;

type Tone = 'title' | 'client' | 'agent' | 'good' | 'bad' | 'quiet';

/** Writes one line; only a terminal gets colours. */
type Print = (tone: Tone, text: string) => void;

const COLOURS: Readonly<Record<Tone, number>> = {
  title: 1,
  client: 36,
  agent: 35,
  good: 32,
  bad: 31,
  quiet: 90,
};

function createPrint(stream: NodeJS.WriteStream): Print {
  const isColoured = stream.isTTY && !process.env.NO_COLOR;
  return (tone, text) => {
    stream.write(isColoured ? `\u001b[${COLOURS[tone]}m${text}\u001b[0m\n` : `${text}\n`);
  };
}

/** Translates, slowly enough to watch. Fails on an empty text; stops when its signal fires. */
const translate: Handler = async ({ payload }, { signal, progress, reply }) => {
  const text = String(payload.text);
  const steps = payload.slowly ? 100 : 4;
  reply(`我来翻译「${text}」`);
  for (let step = 1; step < steps; step += 1) {
    await pause(STEP_MS, undefined, { signal });
    progress((100 * step) / steps);
  }
  if (text === '') throw new Error('文件损坏：第 2 页无法读取');
  return { output: DICTIONARY[text] ?? text.toUpperCase(), pages: 1 };
};

const DICTIONARY: Readonly<Record<string, string>> = { 你好世界: 'Hello, world', 'Guten Tag': '你好' };

function shorten(request_id: string): string {
  return `…${request_id.slice(-6)}`;
}

function describeNotice(notice: AgentNotice): string {
  switch (notice.kind) {
    case 'registered':
      return `${notice.agent_id} registered at ${notice.endpoint}`;
    case 'taken':
      return `${shorten(notice.task.request_id)} taken: ${JSON.stringify(notice.task.payload)}`;
    case 'failed':
      return `${shorten(notice.task.request_id)} failed: ${String(notice.error)}`;
    case 'unreachable':
      return `the gateway does not respond, tries again: ${notice.error.message}`;
    case 'reached':
      return `the gateway responds again after ${notice.seconds} s`;
    case 'drained':
    case 'undrained':
      return `${notice.agent_id} is ${notice.kind}`;
    case 'replaces':
    case 'replaced':
      return `${notice.agent_id} is registered twice: it ${notice.kind === 'replaces' ? 'replaces another process' : 'was replaced by another process'}`;
    case 'stopping':
      return `stops, with ${notice.tasks} tasks in hand`;
    case 'unregistered':
      return `${notice.agent_id} unregistered`;
    case 'reported':
      return `${shorten(notice.request_id)} reported: ${notice.status}`;
    case 'dropped':
      return `${shorten(notice.request_id)} stopped: ${notice.reason}`;
    case 'failure':
      return `${notice.during} failed, tries again: ${String(notice.error)}`;
  }
}

/** Submits a task, shows how it goes and how it ends. */
async function show(
  client: TaskGatewayClient,
  print: Print,
  submission: { readonly tags: readonly string[]; readonly payload: Record<string, unknown> },
  onChange: (task: Task) => void = () => undefined,
): Promise<void> {
  const body = { task_type: 'translate', task_tags: [...submission.tags], payload: submission.payload };
  try {
    const { result } = await client.runTask(
      { ...body, cli_session_id: SESSION, timeout: 60, queue_timeout: 0 },
      {
        onProgress(task) {
          if (task.progress < 100 && task.status !== 'failed') {
            print('client', `  client  ${shorten(task.request_id)} ${task.status} ${task.progress} %`);
          }
          onChange(task);
        },
      },
    );
    print('good', `  client  success: ${JSON.stringify(result)}`);
  } catch (error) {
    if (!(error instanceof TaskFailedError)) throw error;
    print('bad', `  client  ${error.name} (${error.code}): ${error.task.error_info}`);
  }
}

/** A new subscription receives all events of the session. */
async function replay(client: TaskGatewayClient, print: Print, count: number): Promise<void> {
  let seen = 0;
  for await (const { request_id, status, result, error_info } of client.subscribeEvents(SESSION)) {
    print('client', `  client  ${shorten(request_id)} ${status}: ${error_info ?? JSON.stringify(result)}`);
    seen += 1;
    if (seen === count) return;
  }
}

/** Runs the demo on a port, 0 for a free one; resolves when everything is stopped again. */
async function runDemo(print: Print, port: string): Promise<void> {
  const auth = randomBytes(16).toString('hex');
  const pushSecret = `whsec_${randomBytes(24).toString('base64')}`;
  print('title', 'A gateway starts, with its store in memory …');
  const gateway = await startGateway({
    GATEWAY_AUTH: auth,
    ADMIN_AUTH: randomBytes(16).toString('hex'),
    PUSH_SECRET: pushSecret,
    LOG_LEVEL: 'info',
    PORT: port,
  });
  const dropped = Promise.withResolvers<void>();
  const agent = createAgent({
    baseUrl: gateway.baseUrl,
    auth,
    agentId: '译者-1',
    tags: ['translate', 'zh'],
    maxConcurrent: 2,
    listen: {},
    pushSecret,
    handler: translate,
    logLevel: 'off',
    onNotice(notice) {
      print('agent', `  agent   ${describeNotice(notice)}`);
      if (notice.kind === 'dropped') dropped.resolve();
    },
  });
  try {
    print('quiet', `  gateway ${gateway.baseUrl}`);
    await agent.start();
    const client = createClient({ baseUrl: gateway.baseUrl, auth });
    await showTasks(client, print, dropped.promise);
    print(
      'title',
      'An agent writes while it works, and its reader follows, whatever happens to the network:',
    );
    await runOutputDemo(print, auth);
  } finally {
    print('title', 'Everything stops.');
    await agent.stop({ drainMs: 1_000 });
    await gateway.stop();
  }
}

async function showTasks(client: TaskGatewayClient, print: Print, dropped: Promise<void>): Promise<void> {
  print('title', 'A task is submitted and done:');
  await show(client, print, { tags: ['zh'], payload: { text: '你好世界' } });

  print('title', 'A task fails at its agent:');
  await show(client, print, { tags: ['zh'], payload: { text: '' } });

  print('title', 'No agent has the tag of this one:');
  await show(client, print, { tags: ['日本語'], payload: { text: 'おはよう' } });

  print('title', 'A task is cancelled while it runs:');
  let cancelling: Promise<unknown> | undefined;
  await show(client, print, { tags: ['translate'], payload: { text: 'Guten Tag', slowly: true } }, (task) => {
    if (task.status === 'running') cancelling ??= client.cancelTask(task.request_id);
  });
  await Promise.all([cancelling, dropped]);

  print('title', 'A new subscription to the session receives all of it again:');
  await replay(client, print, 4);
}

/** A signal that fires when the process is asked to end. */
function awaitInterrupt(): AbortSignal {
  const interrupted = new AbortController();
  // npm passes on what the terminal has sent already, so one Ctrl-C may come twice.
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => interrupted.abort());
  return interrupted.signal;
}

if (import.meta.main) {
  const options = readScriptOptions('npm run demo', {
    console: { type: 'boolean', default: false },
    port: { type: 'string', value: 'NUMBER', default: '0' },
  });
  const print = createPrint(process.stdout);
  try {
    if (options.console) {
      await runConsoleDemo((text) => print('title', text), options.port, awaitInterrupt());
    } else await runDemo(print, options.port);
  } catch (error) {
    print('bad', `The demo failed: ${error instanceof Error ? error.stack : String(error)}`);
    process.exitCode = 1;
  }
}
