/**
 * Generators of other languages write clients from the published document, by the commands of the page. The
 * clients compile. A program over each, in `generators/`, submits a task and prints its result, with the
 * secret in no URL, although each response has a field that the document does not know.
 */
import { cpSync, existsSync, globSync, readFileSync, symlinkSync } from 'node:fs';
import { basename, delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Agent, createAgent } from '../../sdk/agent/index.ts';
import { useFolder } from '../harness/folder.ts';
import { type GatewayProcess, SECRET, startGateway } from '../harness/gateway-process.ts';
import { LANGUAGE_ENV, LANGUAGE_TOOLS } from '../harness/language-tools.ts';
import { FOREIGN_MODULES, type ToolName } from '../harness/tools.ts';
import { PAGE, readCommand } from './generator-page.ts';
import { type Recorder, startRecorder } from './recorder.ts';
import { runCommand } from './run-tool.ts';

const DOCUMENT = join(import.meta.dirname, '../../generated/openapi/clients-and-agents.3.1.json');
const PROGRAMS = join(FOREIGN_MODULES, '..');
const JARS = globSync(join(LANGUAGE_TOOLS, 'java/*.jar'));
/** The generator has a Jackson in it, which must not be beside the client's. */
const GENERATOR = JARS.find((jar) => jar.includes('openapi-generator'));
const LIBRARIES = JARS.filter((jar) => jar !== GENERATOR);
const CLASSES = ['-cp', ['classes', ...LIBRARIES].join(delimiter)];
/** Cargo compiles its generator first: 50 seconds of one core; another compiler takes 10. */
const COMPILE_MS = 600_000;
const BETA = 'OpenAPI 3.1 support is still in beta.';
const UNNAMED = 'Failed to get the schema name: null';

type Command = readonly [string, ...string[]];
type LanguageGenerator = {
  readonly name: string;
  /** A part of its command on the page. */
  readonly command: string;
  readonly tags: ToolName[];
  /** Begins of the warnings that the generator prints. */
  readonly warnings: readonly string[];
  /** Of the client and the program; left out where the client is only generated. */
  compile?(folder: string): Command;
  readonly run?: Command;
};

const languageGenerators: readonly LanguageGenerator[] = [
  {
    name: 'openapi-python-client',
    command: 'openapi-python-client generate',
    tags: ['python-clients'],
    warnings: [],
    compile: () => ['python', '-m', 'compileall', '-q', '.'],
    run: ['python', 'program.py'],
  },
  {
    name: 'openapi-generator-java',
    command: '--generator-name java',
    tags: ['java-clients'],
    warnings: [BETA, UNNAMED, 'Ignoring complex example on request body'],
    compile: (folder) => [
      ...(['javac', '-encoding', 'UTF-8', '-nowarn', ...CLASSES, '-d', 'classes', 'Program.java'] as const),
      ...globSync('client/src/main/**/*.java', { cwd: folder }),
    ],
    run: ['java', ...CLASSES, 'Program'],
  },
  {
    name: 'openapi-generator-go',
    command: '--generator-name go',
    tags: ['java-clients', 'go-clients'],
    warnings: [BETA, UNNAMED],
    compile: () => ['go', 'build', '-o', 'program', '.'],
    run: ['./program'],
  },
  ...['csharp', 'kotlin'].map((language) => ({
    name: `openapi-generator-${language}`,
    command: `--generator-name ${language}`,
    tags: ['java-clients' as const],
    warnings: [BETA, UNNAMED],
  })),
  {
    name: 'oapi-codegen',
    command: 'go tool oapi-codegen',
    tags: ['go-clients'],
    warnings: [],
    compile: () => ['go', 'build', '-o', 'program', '.'],
    run: ['./program'],
  },
];

let gateway: GatewayProcess;
let recorder: Recorder;
let agent: Agent;

beforeAll(async () => {
  gateway = await startGateway();
  recorder = await startRecorder(gateway.baseUrl, (body) =>
    JSON.stringify({ ...JSON.parse(body), added_later: ['今日は'] }),
  );
  agent = createAgent({
    baseUrl: gateway.baseUrl,
    auth: SECRET,
    agentId: 'a',
    tags: ['upper'],
    logLevel: 'off',
    handler: ({ payload }) => ({ output: String(payload.text).toUpperCase() }),
  });
  await agent.start();
});
afterAll(async () => {
  await agent.stop();
  recorder.stop();
  await gateway.stop();
});

/** The command's output, once it has ended well. */
async function run([command, ...args]: Command, cwd: string, signal: AbortSignal): Promise<string> {
  const path = [join(LANGUAGE_TOOLS, 'python/bin'), process.env.PATH].join(delimiter);
  const settings = { TASK_GATEWAY_URL: recorder.url, TASK_GATEWAY_AUTH: SECRET };
  const env = { ...LANGUAGE_ENV, LC_ALL: 'C.UTF-8', PATH: path, ...settings };
  const { code, output, errors } = await runCommand(command, args, cwd, env, signal);
  expect(code, `${command}: ${output}${errors}`).toBe(0);
  return `${output}${errors}`;
}

/** The lines of a generator that are warnings, each once. */
function findWarnings(output: string): readonly string[] {
  const lines = output.split('\n').filter((line) => /\bwarn|\berror\b/i.test(line) && !/ INFO /.test(line));
  return [...new Set(lines.map((line) => line.replace(/^.* - /, '')))];
}

/** A folder with the document, and with a generator's own in `generators/`: pins, set-up, program. */
function prepareFolder(name: string): string {
  const folder = useFolder();
  const own = join(PROGRAMS, name);
  if (existsSync(own)) cpSync(own, folder, { recursive: true });
  cpSync(DOCUMENT, join(folder, 'openapi.json'));
  if (GENERATOR !== undefined) symlinkSync(GENERATOR, join(folder, basename(GENERATOR)));
  return folder;
}

describe.each(languageGenerators)('$name', ({ name, command, tags, warnings, compile, run: start }) => {
  const runs = compile ? ', with which a program gets the result of a task' : '';
  test(`writes a client by the command of the page${runs}`, { tags, timeout: COMPILE_MS }, async ({
    signal,
  }) => {
    const folder = prepareFolder(name);
    expect(findWarnings(await run(['sh', '-c', readCommand(command)], folder, signal))).toEqual(
      warnings.map((begin) => expect.stringMatching(new RegExp(`^${begin}`))),
    );
    if (!compile || !start) {
      const texts = globSync(join(folder, 'client/**/*.{cs,kt}')).map((file) => readFileSync(file, 'utf8'));
      expect(texts.filter((text) => /\bsubmitTask/i.test(text))).not.toEqual([]);
      return;
    }
    await run(compile(folder), folder, signal);
    recorder.calls.length = 0;
    expect(await run(start, folder, signal)).toBe('success GRÜSS DICH\n');
    const sent = recorder.calls.map(({ line, headers }) => [line, headers.authorization]);
    expect(sent[0]).toEqual(['POST /api/cli/tasks', `Bearer ${SECRET}`]);
    expect(sent.length).toBeGreaterThan(1);
    for (const [line, authorization] of sent.slice(1)) {
      expect(line).toMatch(/^GET \/api\/cli\/tasks\/[\w-]+\?wait=30(\.0)?$/);
      expect(authorization).toBe(`Bearer ${SECRET}`);
    }
  });
});

test('progenitor writes none: it ends as the page says', {
  tags: 'rust-clients',
  timeout: COMPILE_MS,
}, async ({ signal }) => {
  const folder = prepareFolder('progenitor');
  const target = join(LANGUAGE_TOOLS, 'rust/target');
  const args = ['check', '--quiet', '--locked', '--offline', '--target-dir', target];
  const { code, errors } = await runCommand('cargo', args, folder, LANGUAGE_ENV, signal);
  const [, symptom = ''] = /\| progenitor \|.*`([^`]+)` \|$/m.exec(PAGE) ?? [];
  expect(symptom).not.toBe('');
  expect(errors).toContain(symptom);
  expect(code).not.toBe(0);
});
