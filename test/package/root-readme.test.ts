/**
 * The README and the pages beside it are executed: commands are run and their output is compared (those that
 * need what `npm ci` makes in `checkout.test.ts`); tables are compared with the code; every file, function
 * and script that a page names exists.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { settings } from '../../server/config/settings.ts';
import { readBlocks } from '../harness/readme-blocks.ts';
import { openRepository } from './repository.ts';

const ROOT = new URL('../..', import.meta.url).pathname;
const README = readText('README.md');
const run = promisify(execFile);

const blocks = readBlocks(README);
const tour = readBlocks(readText('generated/tour-with-curl.md'));
const scripts = JSON.parse(readText('package.json')).scripts as Record<string, string>;

let folder: string;
let gateway: ChildProcess;
let port: string;
let printed = '';

/** Starts the gateway as `npm start` does, but on a free port, with its data in a folder of its own. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'task-gateway-readme-'));
  const { GATEWAY_AUTH: _gateway, ADMIN_AUTH: _admin, ...env } = process.env;
  const store = { STORE: `sqlite:${folder}/gateway.db`, PORT: '0' };
  gateway = spawn('sh', ['-c', scripts.start ?? ''], { cwd: ROOT, env: { ...env, ...store } });
  port = await new Promise((resolve, reject) => {
    gateway.once('exit', (code) => reject(new Error(`npm start exited with ${code}: ${printed}`)));
    gateway.stderr?.on('data', (text) => {
      printed += text;
    });
    gateway.stdout?.on('data', (text) => {
      printed += text;
      const found = /"url":"http:\/\/127\.0\.0\.1:(\d+)"/.exec(printed);
      // The secret is written behind the log's line.
      if (found?.[1] && printed.includes('"admin_auth"')) resolve(found[1]);
    });
  });
});

afterAll(async () => {
  const exited = new Promise((resolve) => gateway.once('exit', resolve));
  gateway.kill('SIGTERM');
  await exited;
  rmSync(folder, { recursive: true, force: true });
});

function readText(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

function textOf(role: string): string {
  return blocks.find((block) => block.role === role)?.text ?? '';
}

const withPort = (text: string): string => text.replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`);

/** Joins lines that go on with the one before, and replaces what changes: ids, times, ports. */
function maskVariables(text: string): string {
  return text
    .replaceAll('\n ', '')
    .replaceAll(' ', '')
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<id>')
    .replaceAll(/"create_time":[\d.]+/g, '"create_time":<time>')
    .replaceAll(/"registration":"[\w-]+"/g, '"registration":"<token>"')
    .replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:<port>')
    .trim();
}

/** The agents that the running gateway lists to its administrator. */
async function listAgents(): Promise<unknown> {
  const [, secret = ''] = /"admin_auth":"([^"]+)"/.exec(printed) ?? [];
  const url = `http://127.0.0.1:${port}/api/admin/agents`;
  const response = await fetch(url, { headers: { 'X-Admin-Auth': secret } });
  return await response.json();
}

describe('the two commands of the README', () => {
  test('are the light npm ci and start, then all of it and test', () => {
    expect(textOf('main')).toBe('npm ci --omit=dev && npm start\n');
    expect(blocks.filter(({ text }) => text.startsWith('npm ci'))).toHaveLength(2);
    expect(textOf('test')).toBe('npm ci && npm test\n');
    expect(textOf('cli')).toContain(textOf('lead').trim());
    expect(scripts.start).toContain('server/main.ts');
    expect(scripts.test).toContain('test/run-tests.ts');
  });

  test('start a gateway that prints what the README shows', async () => {
    const { buildStartupMessage } = await import('../../server/startup-message.ts');
    const { readConfig } = await import('../../server/config/config.ts');
    const world = { readText: () => '', newSecret: () => 'kyT9bKZFHfhw9vZ3p8rBq2m0XcWn5sLd' };
    const address = { address: '127.0.0.1', family: 'IPv4', port: 8080 };
    const build = (settings: Readonly<Record<string, string>>) => {
      const read = readConfig(settings, world);
      if (!read.ok) throw new Error(read.mistakes.join());
      return buildStartupMessage(read.config, address, new Date());
    };
    const { terminalText, logFields } = build({});
    const shown = textOf('main-output').trim().split('\n');
    expect(shown.length).toBeGreaterThan(3);
    expect(terminalText.trim().split('\n').slice(0, shown.length)).toEqual(shown);
    expect(shown.join('\n')).toContain(`Console        ${logFields.console}`);
    const without = build({ CONSOLE: 'off' });
    expect(`${without.terminalText}${JSON.stringify(without.logFields)}`).not.toMatch(/console/i);
  });
});

describe('the tour with curl', () => {
  afterEach(async () => {
    expect(await listAgents(), 'agents left behind').toMatchObject({ agents: [], total: 0 });
  });

  test('prints what the page shows, line by line, in one shell', { tags: 'curl' }, async () => {
    const steps = tour.filter(({ role }) => role === 'curl');
    const answers = tour.filter(({ role }) => role === 'answer');
    expect(answers).toHaveLength(steps.length);
    const script = steps.map(({ text }) => `${withPort(text)}\necho; echo ---`).join('\n');
    const { stdout } = await run('bash', ['-euc', script]);
    const outputs = stdout.split('---\n').slice(0, -1).map(maskVariables);
    for (const [index, { text }] of answers.entries()) {
      const lines = maskVariables(text).split('\n');
      expect(outputs[index]?.split('\n').filter((line) => lines.includes(line))).toEqual(lines);
    }
  });
});

describe('the tables', () => {
  test('the one of SETTINGS.md names the settings that the code reads, with their defaults', () => {
    const page = readText('server/SETTINGS.md');
    const table = /<!-- settings -->\n([\s\S]*?)<!-- \/settings -->/.exec(page)?.[1];
    expect(table).toBe(describeSettings());
    const files = [...page.replace(/<!--[\s\S]*/, '').matchAll(/`([A-Z_]+_FILE)`/g)].map(([, name]) => name);
    const fromFiles = Object.entries(settings).filter(([, { file }]) => file);
    expect(files).toEqual(fromFiles.map(([name]) => `${name}_FILE`));
  });

  test('the one of the states has ten lines of the table in step.ts', () => {
    const [head = [], ...whole] = readRows(readText('server/domain/step.ts').replace(/\*\/[\s\S]*/, ''));
    const [columns = [], ...shown] = readRows(textOf('states'));
    const lines = whole.map((cells) => columns.map((name) => cells[head.indexOf(name)]));
    expect(shown).toHaveLength(10);
    expect(lines).toEqual(expect.arrayContaining(shown));
  });

  test('the list of the nine calls names those of the document’s core', () => {
    const [, section = ''] = /^## The core\n([\s\S]*?)```/m.exec(README) ?? [];
    const named = [...section.matchAll(/`((?:GET|POST) [^`]+)`/g)].map(([, call]) => call);
    const core = describeCalls('core').map((call) => call.replace(/: .*/, ''));
    expect(core).toHaveLength(9);
    expect(named.toSorted()).toEqual(core.toSorted());
  });

  test('the one of the contract’s README names the calls of the document, each with the secret it takes', () => {
    const rows = [...readText('generated/README.md').matchAll(/^\| `((?:GET|POST) [^`]+)` \| ([^|]+) \|/gm)];
    const listed = rows.map(([, call, secret = '']) => `${call}: ${secret.trim()}`);
    expect(listed.sort()).toEqual(describeCalls().sort());
  });
});

/** The cells of a table whose columns stand between bars, a line of a comment or of text each. */
function readRows(text: string): readonly (readonly string[])[] {
  const lines = text.split('\n').filter((line) => line.includes(' | '));
  return lines.map((line) =>
    line
      .replace(/^ \* /, '')
      .split('|')
      .map((cell) => cell.trim()),
  );
}

function describeSettings(): string {
  const rows = Object.entries(settings).map(([name, setting]) => {
    const value = setting.default === null || setting.default === '' ? '' : `\`${setting.default}\``;
    return `| \`${name}\` | ${value} | ${setting.unit ?? ''} | ${setting.description} |`;
  });
  return `\n| Name | Default | Unit | Meaning |\n|---|---|---|---|\n${rows.join('\n')}\n\n`;
}

type DocumentedCall = {
  readonly tags: readonly string[];
  readonly security: readonly Readonly<Record<string, unknown>>[];
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: { $ref: string } }>>;
  };
};

/** Describes the calls of the document, or those with a tag. */
function describeCalls(tag?: string): string[] {
  const document = JSON.parse(readText('generated/openapi/task-gateway.3.1.json')) as {
    paths: Record<string, Record<string, DocumentedCall>>;
    components: { schemas: Record<string, { required?: readonly string[]; properties?: object }> };
  };
  function secretOf({ security, requestBody }: DocumentedCall): string {
    const schemes = security.flatMap((scheme) => Object.keys(scheme));
    if (schemes.every((scheme) => scheme === 'AdminAuth')) return '`X-Admin-Auth`';
    const reference = requestBody?.content['application/json']?.schema.$ref;
    if (reference === undefined) return 'Bearer';
    const schema = document.components.schemas[reference.split('/').at(-1) ?? ''];
    if (!Object.hasOwn(schema?.properties ?? {}, 'auth')) return 'Bearer';
    // It is optional for agents; of the administrator's calls only beside the other secret.
    const isRequired = schema?.required?.includes('auth') || schemes.includes('AdminAuth');
    return isRequired ? '`auth`' : '`auth` optional';
  }
  return Object.entries(document.paths).flatMap(([path, calls]) =>
    Object.entries(calls)
      .filter(([, { tags }]) => tag === undefined || tags.includes(tag))
      .map(([method, call]) => `${method.toUpperCase()} ${path}: ${secretOf(call)}`),
  );
}

describe('what the READMEs name exists', () => {
  const MAINTAINERS_PAGES = ['server/README.md', 'server/WHERE.md', 'server/GLOSSARY.md'];
  const { files } = openRepository();
  const pages = files.filter((file) => file.endsWith('.md') && readText(file).includes('npm run '));

  test.each(pages)('every npm script of %s', (page) => {
    for (const [, name = ''] of readText(page).matchAll(/npm run ([\w:-]+)/g)) {
      expect(scripts, name).toHaveProperty(name);
    }
  });

  test.each([...MAINTAINERS_PAGES, 'test/README.md'])('every file and folder that %s names', (page) => {
    const area = dirname(page);
    const names = [...readText(page).matchAll(/`([\w.-]+(?:\/[\w.-]+)*\/?)`/g)]
      .map(([, name = '']) => name)
      .filter((name) => /\.(ts|lua|js|tsp|sh|json|yaml)$|\/$|\/.*\.test$/.test(name));
    expect(names.length).toBeGreaterThan(3);
    const missing = names.filter(
      (name) => ![ROOT, join(ROOT, area)].some((at) => existsSync(join(at, name))),
    );
    expect(missing).toEqual([]);
  });

  test('the eight files of server/README.md, which are short enough to be read', () => {
    const [, list = ''] =
      /^## Read these eight files\n([\s\S]*?)^## /m.exec(readText('server/README.md')) ?? [];
    const names = [...list.matchAll(/^\d\. `([\w/.-]+)`: /gm)].map(([, name = '']) => name);
    expect(names).toHaveLength(8);
    const lines = names.map((name) => readText(`server/${name}`).trimEnd().split('\n').length);
    expect(lines.reduce((sum, count) => sum + count)).toBeLessThanOrEqual(1_800);
  });

  test('every function, type and constant that the pages for maintainers of server/ name', () => {
    const code = readdirSync(join(ROOT, 'server'), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.includes('node_modules'))
      .map((file) => readText(`server/${file}`))
      .join('\n');
    const words = new Set(code.match(/\w+/g));
    const names = [
      ...MAINTAINERS_PAGES.map(readText)
        .join('\n')
        .matchAll(/`(\w+)\(\)`|`([A-Z]\w*[A-Z]\w*)`/g),
    ].map(([, called, named]) => called ?? named ?? '');
    expect(names.length).toBeGreaterThan(10);
    expect(names.filter((name) => !words.has(name))).toEqual([]);
  });
});
