/**
 * The code samples of the document (`x-codeSamples`): each operation called with curl, Python, the SDK and
 * the command line, as its first example does. All four read the address and the secrets from the variables
 * that the SDK and the command read: `TASK_GATEWAY_URL`, `TASK_GATEWAY_AUTH`, `TASK_GATEWAY_ADMIN_AUTH`.
 * The first three are written from the document; `command-samples.ts` has the command lines.
 */
import { buildCommand } from './command-samples.ts';
import { isJson, type Json, listOperations } from './document.ts';
import { buildPython, buildPythonAgent } from './python-samples.ts';
import { readFirstExample, type SampleCall } from './sample-call.ts';
import { writeJson, writeProgramValue } from './written-values.ts';

/** Adds the samples to each operation of a gateway's document. Throws if an operation has no example. */
export function addGatewaySamples(document: Json): void {
  for (const { path, method, operation } of listOperations(document)) {
    const call = readFirstExample(path, method, operation);
    addSamples(operation, [buildCurl(call), buildPython(call), buildSdk(call), buildCommand(call)]);
  }
}

/** Adds the samples to the operation that an agent serves. */
export function addAgentSamples(document: Json): void {
  for (const { path, method, operation } of listOperations(document)) {
    const call = readFirstExample(path, method, operation);
    addSamples(operation, [buildPush(call), buildPythonAgent(call), buildAgent(call), buildCommand(call)]);
  }
}

function addSamples(
  operation: Json,
  [curl, python, sdk, cli]: readonly [string, string, string, string],
): void {
  operation['x-codeSamples'] = [
    { lang: 'Shell', label: 'curl', source: curl },
    { lang: 'Python', label: 'Python', source: python },
    { lang: 'JavaScript', label: 'SDK', source: sdk },
    { lang: 'Shell', label: 'CLI', source: cli },
  ];
}

/**
 * Writes the call for curl. A body comes from a here document, so that the shell puts the secret into it.
 */
function buildCurl(call: SampleCall): string {
  const path = call.path.replace(/\{(\w+)\}/g, (_, name) =>
    encodeURIComponent(String(call.pathValues[name])),
  );
  const query = new URLSearchParams(call.query.map(([name, value]) => [name, String(value)]));
  const target = `"$TASK_GATEWAY_URL${path}${query.size > 0 ? `?${query}` : ''}"`;
  const method = call.method === 'post' && !call.body ? ' -X POST' : '';
  const options = [
    ...(call.body ? [`-H 'Content-Type: application/json'`] : []),
    ...(call.secret === 'Authorization' ? ['-H "Authorization: Bearer $TASK_GATEWAY_AUTH"'] : []),
    ...(call.secret === 'X-Admin-Auth' ? ['-H "X-Admin-Auth: $TASK_GATEWAY_ADMIN_AUTH"'] : []),
    ...call.headers.map(([name, value]) => `-H '${name}: ${value}'`),
  ];
  const flags = call.isStream ? '-sSN' : '-sS';
  const command = [`curl ${flags}${method} ${target}`, ...options].join(' \\\n  ');
  if (!call.body) return command;
  const auth = call.secret === undefined ? { auth: '$TASK_GATEWAY_AUTH' } : {};
  return `${command} \\\n${buildHereDocument({ ...auth, ...call.body })}`;
}

/** Writes the push as the gateway sends it without a push secret, to try an agent. */
function buildPush(call: SampleCall): string {
  const headers = call.headers.flatMap(([name, value]) => {
    if (name === 'webhook-signature') return [];
    return [name === 'webhook-timestamp' ? `-H "${name}: $(date +%s)"` : `-H '${name}: ${value}'`];
  });
  const command = ['curl -sSi http://127.0.0.1:9000/', `-H 'Content-Type: application/json'`, ...headers];
  return `${command.join(' \\\n  ')} \\\n${buildHereDocument(call.body ?? {})}`;
}

function buildHereDocument(body: Json): string {
  const text = writeJson(body);
  const isPlain = !/[`\\]|\$(?!TASK_GATEWAY_AUTH")/.test(text);
  if (!isPlain) throw new Error(`The shell would change this example: ${text}.`);
  return `  -d @- <<JSON\n${text}\nJSON`;
}

/** Options of the SDK for headers of the contract. */
const OPTION_NAMES: Readonly<Record<string, string>> = {
  'Idempotency-Key': 'idempotencyKey',
  'Last-Event-ID': 'lastEventId',
};

/** Writes the call for a program that uses the SDK. */
function buildSdk(call: SampleCall): string {
  const { operationId, isStream } = call;
  const variables = ['TASK_GATEWAY_URL', 'TASK_GATEWAY_AUTH'];
  if (call.secret === 'X-Admin-Auth') variables.push('TASK_GATEWAY_ADMIN_AUTH');
  const options = Object.fromEntries(
    call.headers.flatMap(([name, value]) => {
      if (name === 'Accept') return [];
      const option = OPTION_NAMES[name];
      if (option === undefined)
        throw new Error(`${operationId}: the SDK has no option for the header ${name}.`);
      return [[option, value]];
    }),
  );
  const query = Object.fromEntries(call.query);
  const hasSession = isStream && Object.keys(call.pathValues).length === 0;
  const session = hasSession ? call.query.map(([, value]) => value) : [];
  const values = [
    ...Object.values(call.pathValues),
    ...session,
    ...(call.body ? [call.body] : []),
    { ...(hasSession ? {} : query), ...options },
  ].filter((value) => !isJson(value) || Object.keys(value).length > 0);
  const run = `client.${operationId}(${values.map((value) => writeProgramValue(value)).join(', ')})`;
  const use = isStream
    ? `for await (const event of ${run}) {\n  console.log(event);\n}`
    : `console.log(await ${run});`;
  const create = `const client = createClient(); // ${variables.join(', ')}`;
  return `import { createClient } from '@task-gateway/sdk';\n\n${create}\n${use}`;
}

/** Writes an agent that receives pushes. */
function buildAgent({ body }: SampleCall): string {
  const { agent_id, task_tags } = body ?? {};
  return `import { runAgent } from '@task-gateway/sdk/agent';

// TASK_GATEWAY_URL, TASK_GATEWAY_AUTH; with TASK_GATEWAY_PUSH_SECRET it refuses pushes that are not signed.
await runAgent({
  agentId: ${writeProgramValue(agent_id)},
  tags: ${writeProgramValue(task_tags)},
  listen: { port: 9000 },
  handler: ({ payload }) => \`Translated \${payload.pages} pages\`,
});`;
}
