/** The command: it reads its options, runs the kit, prints and writes the reports, returns the exit code. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { AGENT_CHECKS } from './agent-checks.ts';
import { CLIENT_CHECKS } from './client-checks.ts';
import { type Fields, isFields } from './findings.ts';
import { REQUIREMENTS } from './requirements.ts';
import { runAgentChecks } from './run-agent-checks.ts';
import { hasCheck, type Run, runChecks } from './run-checks.ts';
import { runClientChecks } from './run-client-checks.ts';
import { SLOW_CHECKS } from './slow-checks.ts';
import { awaitsAgent, startsCommand } from './started-command.ts';
import { type Baseline, exitCodeOf, parseBaseline, summarize } from './verdicts.ts';
import { printReport, type ReportHead, writeJsonReport, writeJunitReport } from './written-reports.ts';

const USAGE = `npx @task-gateway/conformance --gateway URL [OPTIONS]
npx @task-gateway/conformance --agent COMMAND|URL [OPTIONS]
npx @task-gateway/conformance --client COMMAND [OPTIONS]
npx @task-gateway/conformance --list

Checks whether a gateway is a Task Gateway, or whether an agent or a client is one of such a gateway's. The secrets of a
gateway: GATEWAY_AUTH, ADMIN_AUTH and PUSH_SECRET in the environment.

  --gateway URL         the gateway under test
  --agent COMMAND       the agent under test: the kit starts it, kills it and starts it again, with TASK_GATEWAY_URL,
                        TASK_GATEWAY_AUTH, TASK_GATEWAY_PUSH_SECRET and TASK_GATEWAY_AGENT_ID in its environment
  --agent URL           the same for an agent that you start: the kit plays the gateway at this URL and waits for it
  --client COMMAND      the client under test: the kit runs it for each scenario with TASK_GATEWAY_URL, TASK_GATEWAY_AUTH,
                        TASK_TYPE, TASK_TAG and TASK_PAYLOAD in its environment; it runs that task, prints the result,
                        and ends with 0, or with another exit code if the task failed
  --payload JSON        the payload of the tasks: for an agent one that takes it 1.5 seconds or longer
  --agent-host ADDRESS  where the kit's agents listen and the gateway reaches them (127.0.0.1)
  --origin ORIGIN       an origin whose pages the gateway allows; without it, what such a page gets is not scored
  --level LEVEL         only requirements of this level: L0 the specification, L1 the guide
  --only ID             only requirements whose ids begin so, such as "event."
  --first               makes one check of a gateway after the other, and stops at the first that fails
  --slow                makes the checks of a gateway too that take longer than ten seconds; three minutes in all
  --seed NUMBER         decides the values that are sent, names apart (one of the clock)
  --baseline FILE       JSON: ids of requirements that are expected to fail, each with its reason
  --json FILE           writes the report as JSON
  --junit FILE          writes the report as JUnit
  --all                 prints the requirements that passed too, and those that are not scored, with the reason
  --list                prints the requirements and whether a check looks at them

Exit codes: 0 conforms; 1 does not, or the baseline is stale; 2 the kit itself failed or was used wrongly.`;

const OPTIONS = {
  gateway: { type: 'string' },
  agent: { type: 'string' },
  client: { type: 'string' },
  payload: { type: 'string' },
  'agent-host': { type: 'string' },
  origin: { type: 'string' },
  level: { type: 'string' },
  only: { type: 'string' },
  first: { type: 'boolean', default: false },
  slow: { type: 'boolean', default: false },
  seed: { type: 'string' },
  baseline: { type: 'string' },
  json: { type: 'string' },
  junit: { type: 'string' },
  all: { type: 'boolean', default: false },
  list: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const;

/** A mistake of the caller's, told in one line. */
class UsageError extends Error {}

/** Runs the command with its words. `version` is that of the package. Returns the exit code. */
export async function runCommand(words: readonly string[], version: string): Promise<number> {
  try {
    const { values } = parseArgs({ args: [...words], options: OPTIONS, strict: true });
    if (values.help) return print(USAGE);
    if (values.list) return print(listRequirements());
    if (values.agent !== undefined) return await checkAgent(values.agent, values, version);
    if (values.client !== undefined) return await checkClient(values.client, values, version);
    if (values.gateway !== undefined) return await checkGateway(values.gateway, values, version);
    throw new UsageError(
      '--gateway URL is missing, or --agent COMMAND or --client COMMAND: it names what is tested.',
    );
  } catch (error) {
    if (!(error instanceof UsageError || error instanceof TypeError)) throw error;
    console.error(`${error.message}\nWhat it takes: npx @task-gateway/conformance --help`);
    return 2;
  }
}

type Option = 'agent-host' | 'origin' | 'level' | 'only' | 'payload' | 'seed' | 'baseline' | 'json' | 'junit';
type Values = Readonly<Partial<Record<Option, string>> & Record<'all' | 'first' | 'slow', boolean>>;
type Asked = {
  readonly level?: 'L0' | 'L1';
  readonly only?: string;
  readonly seed: number;
  readonly signal: AbortSignal;
};

function checkGateway(gateway: string, values: Values, version: string): Promise<number> {
  if (!/^https?:\/\//.test(gateway) || !URL.canParse(gateway))
    throw new UsageError(`--gateway must be a URL such as http://127.0.0.1:8080, not "${gateway}".`);
  const { GATEWAY_AUTH = 'task-gateway-default-secret', ADMIN_AUTH, PUSH_SECRET } = process.env;
  const { 'agent-host': agentHost, origin, slow, first } = values;
  if (first && values.baseline !== undefined)
    throw new UsageError(
      '--first and --baseline exclude each other: a failure that is expected is the first, too.',
    );
  return check({ role: 'gateway', subject: gateway }, values, version, (asked) =>
    runChecks({
      gatewayUrl: gateway,
      auth: GATEWAY_AUTH,
      slow,
      first,
      ...(ADMIN_AUTH ? { adminAuth: ADMIN_AUTH } : {}),
      ...(PUSH_SECRET ? { pushSecrets: PUSH_SECRET.split(' ') } : {}),
      ...(agentHost === undefined ? {} : { agentHost }),
      ...(origin === undefined ? {} : { origin }),
      ...asked,
    }),
  );
}

function checkAgent(agent: string, values: Values, version: string): Promise<number> {
  const url = /^https?:\/\//.test(agent) && URL.canParse(agent) ? new URL(agent) : undefined;
  const starter = url ? awaitsAgent(announce) : startsCommand(agent);
  const payload = readPayload(values.payload);
  return check({ role: 'agent', subject: agent }, values, version, ({ seed: _, ...asked }) =>
    runAgentChecks({
      starter,
      ...(url ? { listen: { host: url.hostname, port: Number(url.port) || 80 }, limitMs: START_MS } : {}),
      ...(payload === undefined ? {} : { payload }),
      ...asked,
    }),
  );
}

function checkClient(client: string, values: Values, version: string): Promise<number> {
  const payload = readPayload(values.payload);
  return check({ role: 'client', subject: client }, values, version, ({ seed: _, ...asked }) =>
    runClientChecks({
      starter: startsCommand(client),
      ...(payload === undefined ? {} : { payload }),
      ...asked,
    }),
  );
}

/** How long somebody has to start the agent by hand. */
const START_MS = 60_000;
const announce: Parameters<typeof awaitsAgent>[0] = (environment) => {
  const lines = Object.entries(environment).map(([name, value]) => `  ${name}=${value}`);
  console.error(`Start the agent within a minute, with\n${lines.join('\n')}`);
};

/** Runs the checks of a role, and writes the reports. */
async function check(
  subject: Pick<ReportHead, 'role' | 'subject'>,
  values: Values,
  version: string,
  run: (asked: Asked) => Promise<Run>,
): Promise<number> {
  const seed = readSeed(values.seed);
  const baseline = readBaseline(values.baseline, values);
  const { only } = values;
  if (
    only !== undefined &&
    !REQUIREMENTS.some(({ id, role }) => role === subject.role && id.startsWith(only))
  )
    throw new UsageError(`--only ${only}: no requirement begins so; --list prints them.`);
  const level = readLevel(values.level);
  const startedAt = new Date().toISOString();
  const head: ReportHead = { kitVersion: version, kitHash: hashKit(), seed, ...subject, startedAt };
  const ending = new AbortController();
  const end = (): void => ending.abort();
  process.once('SIGINT', end).once('SIGTERM', end);
  const done = await run({
    seed,
    signal: ending.signal,
    ...(only === undefined ? {} : { only }),
    ...(level === undefined ? {} : { level }),
  });
  process.off('SIGINT', end).off('SIGTERM', end);
  const summary = summarize(done.verdicts, baseline);
  if (values.json !== undefined) writeFileSync(values.json, writeJsonReport(done, summary, head, baseline));
  if (values.junit !== undefined) writeFileSync(values.junit, writeJunitReport(done, summary, baseline));
  console.log(printReport(done, summary, head, baseline, values.all));
  return exitCodeOf(summary);
}

function readPayload(text: string | undefined): Fields | undefined {
  if (text === undefined) return undefined;
  try {
    const payload: unknown = JSON.parse(text);
    if (isFields(payload)) return payload;
  } catch {
    // The sentence is the same as for another kind of JSON.
  }
  throw new UsageError(`--payload must be a JSON object, not ${text}.`);
}

function readSeed(text: string | undefined): number {
  const seed = text === undefined ? Date.now() % 2 ** 32 : Number(text);
  if (Number.isInteger(seed) && seed >= 0 && seed < 2 ** 32) return seed;
  throw new UsageError(`--seed must be a whole number from 0 and below 2^32, not "${text}".`);
}

function readLevel(text: string | undefined): 'L0' | 'L1' | undefined {
  if (text === undefined || text === 'L0' || text === 'L1') return text;
  throw new UsageError(`--level must be L0 or L1, not "${text}".`);
}

/** Reads the baseline. If only a part of the requirements is checked, keeps only the entries of that part. */
function readBaseline(file: string | undefined, { only = '', level, slow }: Values): Baseline {
  if (file === undefined) return {};
  try {
    const all = Object.entries(parseBaseline(readFileSync(file, 'utf8')));
    const others = REQUIREMENTS.filter(
      (one) => (level !== undefined && one.level !== level) || (one.id in SLOW_CHECKS && !slow),
    ).map(({ id }) => id);
    return Object.fromEntries(all.filter(([id]) => id.startsWith(only) && !others.includes(id)));
  } catch (error) {
    throw new UsageError(`--baseline ${file}: ${error instanceof Error ? error.message : error}.`);
  }
}

function listRequirements(): string {
  return REQUIREMENTS.map((one) => {
    const { id, level, strength, role, text, not_scored } = one;
    const isChecked = hasCheck(one) || id in AGENT_CHECKS || id in CLIENT_CHECKS;
    const state = isChecked ? 'checked' : `not scored: ${not_scored}`;
    return `${id} (${level}, ${role}, ${strength}; ${state})\n  ${text}`;
  }).join('\n');
}

/** Returns the hash of the kit's programs and the requirements. */
function hashKit(): string {
  const folder = new URL('.', import.meta.url);
  const files = readdirSync(folder).filter((name) => /(?<!\.test|\.d)\.[jt]s$/.test(name));
  const hash = createHash('sha256').update(JSON.stringify(REQUIREMENTS));
  for (const file of files.toSorted()) hash.update(readFileSync(new URL(file, folder)));
  return hash.digest('hex');
}

function print(text: string): number {
  console.log(text);
  return 0;
}
