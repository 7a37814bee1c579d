/**
 * The command line for each operation: the command that makes the call, or one that makes it on its way.
 */
import { isJson } from './document.ts';
import type { SampleCall } from './sample-call.ts';

type Write = (call: SampleCall) => string;

/** The agent's calls have no commands of their own: `agent exec` makes all of them. */
const AGENT_CALLS: Readonly<Record<string, string>> = {
  registerAgent: 'Registers the agent, and registers it again whenever the gateway asks for it.',
  heartbeatAgent: 'Sends a heartbeat every 15 seconds for as long as it runs.',
  claimTask: 'Claims one task after another and starts the program for each.',
  reportResult: 'Reports what the program prints, or why it failed, until the gateway has it.',
  writeOutput: 'Writes what the program prints as output, as it prints it.',
  claimAnswer: 'Asks nothing: a handler of the SDK asks with `context.ask()`, and a program cannot.',
  unregisterAgent: 'Unregisters the agent when it is stopped (Ctrl-C), once its tasks are finished.',
};

const COMMANDS: Readonly<Record<string, Write>> = {
  submitTask({ body, headers }) {
    const { task_type, task_tags, payload, cli_session_id, timeout } = body ?? {};
    const key = headers.find(([name]) => name === 'Idempotency-Key')?.[1];
    return joinWords([
      'task-gateway task submit',
      String(task_type),
      ...Object.entries(isJson(payload) ? payload : {}).map(([name, value]) =>
        quote(typeof value === 'string' ? `${name}=${value}` : `${name}:=${JSON.stringify(value)}`),
      ),
      ...writeTags(task_tags),
      `--session ${cli_session_id}`,
      `--timeout ${timeout}`,
      `--idempotency-key ${key}`,
    ]);
  },
  getTask: ({ pathValues }) => `task-gateway task get ${pathValues.request_id} -o json`,
  explainTask: ({ pathValues }) => `task-gateway task explain ${pathValues.request_id}`,
  previewMatch: ({ body }) => `task-gateway match ${asTexts(body?.task_tags).map(quote).join(' ')}`,
  readOutput: ({ pathValues }) => `task-gateway task output ${pathValues.request_id} -f`,
  answerTask({ pathValues, body }) {
    const { key, answer } = body ?? {};
    const fields = Object.entries(isJson(answer) ? answer : {}).map(
      ([name, value]) => `${name}:=${JSON.stringify(value)}`,
    );
    return ['task-gateway task answer', pathValues.request_id, key, ...fields].join(' ');
  },
  cancelTask: ({ pathValues }) => `task-gateway task cancel ${pathValues.request_id}`,
  subscribeEvents({ query, headers }) {
    const [session] = query.map(([, value]) => value);
    const [after] = headers.map(([, value]) => value);
    return `task-gateway events ${session} --after ${after}`;
  },
  listAgents: ({ query }) => ['task-gateway agent list', ...writeOptions(query)].join(' '),
  listTasks: ({ query }) => ['task-gateway task list', ...writeOptions(query)].join(' '),
  cancelTasks({ body }) {
    const { filter } = body ?? {};
    const filters = Object.entries(isJson(filter) ? filter : {}).map(
      ([name, value]) => `--filter ${name}=${value}`,
    );
    return ['task-gateway task cancel', ...filters].join(' ');
  },
  getAgent: ({ pathValues }) => `task-gateway agent show ${pathValues.agent_id}`,
  drainAgent: ({ pathValues }) => `task-gateway agent drain ${pathValues.agent_id}`,
  getOverview: () => 'task-gateway overview',
  pushTask({ body }) {
    const { agent_id, task_tags } = body ?? {};
    const options = [`--id ${agent_id}`, ...writeTags(task_tags), '--listen 127.0.0.1:9000'];
    return `# The gateway pushes the tasks to this address; the program gets the payload on standard input.\n${writeExec(options)}`;
  },
  ...Object.fromEntries(
    Object.entries(AGENT_CALLS).map(([operationId, comment]) => [
      operationId,
      () => {
        const stream = operationId === 'writeOutput' ? ['--stream'] : [];
        const options = ['--id translator-1', '--tag translate', '--tag zh-en', '--max 4', ...stream];
        return `# ${comment}\n${writeExec(options)}`;
      },
    ]),
  ),
};

/** Returns the command line for an operation. Throws if the operation is not listed here. */
export function buildCommand(call: SampleCall): string {
  const write = COMMANDS[call.operationId];
  if (!write)
    throw new Error(`spec/command-samples.ts lacks ${call.operationId}: write what to type for it.`);
  return write(call);
}

function writeExec(options: readonly string[]): string {
  return joinWords(['task-gateway agent exec', ...options, `-- sh -c 'echo "Translated: $(cat)"'`]);
}

/** Writes the parameters of a query as options of the same names. */
function writeOptions(query: SampleCall['query']): readonly string[] {
  return query.map(([name, value]) => (value === true ? `--${name}` : `--${name} ${value}`));
}

function writeTags(tags: unknown): readonly string[] {
  return asTexts(tags).map((tag) => `--tag ${tag}`);
}

function asTexts(list: unknown): readonly string[] {
  return Array.isArray(list) ? list.map(String) : [];
}

function quote(word: string): string {
  return /^[\p{L}\p{N}_=:./-]+$/u.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

const WIDTH_MAX = 80;

/** Joins the words on one line, or on several where one would be too long. */
function joinWords(words: readonly string[]): string {
  const lines: string[] = [];
  for (const word of words) {
    const line = lines.at(-1);
    if (line === undefined || line.length + word.length > WIDTH_MAX) lines.push(word);
    else lines[lines.length - 1] = `${line} ${word}`;
  }
  return lines.join(' \\\n  ');
}
