/**
 * Tools are looked for in one place. A test that needs one says so by its tag, so that vitest reports it as
 * skipped; a test that looks for itself and returns would count as passed, and no reader would see that.
 */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { TOOL_NAMES } from '../harness/tools.ts';
import { openRepository } from './repository.ts';

const ROOT = join(import.meta.dirname, '../..');
const { sources, read } = openRepository();

/** The one place. */
const MODULE = 'test/harness/tools.ts';

/** How a test would look for a tool, or say that it has found none. */
const LOOKS: readonly (readonly [what: string, pattern: RegExp])[] = [
  ['leaves tests out by a condition', /\.(skipIf|runIf|skip|todo)\(|\b(describe|test)\.(skip|todo)\b/],
  ['looks at CI', /process\.env\.CI\b/],
  ['names a package to install', /apt-get|NOT RUN|NOT TRIED/],
  ['asks a program whether it is there', /Sync\([^)]*\)\.(error|status) *[!=]==?/],
  ['looks into a folder of the system', /existsSync\([^)]*['"`]\/(usr|lib|opt|etc)\//],
];

const findLooks = (text: string): readonly string[] => {
  // A condition that vitest prints with its reason: `context.skip(reason)`.
  const code = text.replace(/\bcontext\.skip\(/g, '');
  return LOOKS.filter(([, pattern]) => pattern.test(code)).map(([what]) => what);
};

test('nothing but the one module looks for a tool', () => {
  const tests = sources.filter((file) => file.startsWith('test/') && file !== MODULE);
  expect(tests.length).toBeGreaterThan(200);
  const looking = tests
    .filter((file) => file !== 'test/package/tool-law.test.ts')
    .flatMap((file) => findLooks(read(file)).map((what) => `${file} ${what}`));
  expect(looking).toEqual([]);
});

test.each([
  "describe.skipIf(executable === undefined)('the page', () => {});",
  "if (process.env.CI) throw new Error('There is none.');",
  "if (spawnSync('zsh', ['-c', 'true']).error !== undefined) return;",
  "return existsSync('/usr/bin/chromium');",
  "console.warn('zsh: apt-get install zsh');",
])('the law bites: %s', (code) => {
  expect(findLooks(code)).not.toEqual([]);
});

/** Runs a test file with `npm test`; resolves with its exit code and its two outputs. */
async function runTest(code: string, env: Readonly<Record<string, string>>) {
  // Git ignores the folder, so that no law about sources meets the file.
  const folder = join(ROOT, 'test/package/data');
  const file = join(folder, `${randomUUID()}.test.ts`);
  onTestFinished(() => rmSync(file));
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, `import { expect, test } from 'vitest';\n${code}\n`);
  const words = ['test/run-tests.ts', 'quick', file, '--reporter=default'];
  const all = { ...process.env, CI: '', TOOLS: '', NO_COLOR: '1', FORCE_COLOR: '', ...env };
  const ran = promisify(execFile)(process.execPath, words, { cwd: ROOT, env: all });
  const { code: exit = 0, stdout, stderr } = await ran.catch((error) => error);
  return { exit, stdout: String(stdout), stderr: String(stderr), file };
}

describe('a test', () => {
  test('that needs a tool is skipped without it, with the reason, also in CI', async () => {
    const tests = TOOL_NAMES.map((tool) => `test('${tool}', { tags: '${tool}' }, () => expect(1).toBe(2));`);
    const { exit, stdout } = await runTest(tests.join('\n'), { TOOLS: 'none', CI: 'true' });
    expect(stdout).toMatch(new RegExp(`Tests +${TOOL_NAMES.length} skipped`));
    const reasons = stdout.matchAll(/^Skipped for want of (\S+): 1 \(.{4,}\)$/gm);
    expect([...reasons].map(([, tool]) => tool)).toEqual(TOOL_NAMES);
    expect(exit).toBe(0);
  });

  test('that asserts nothing fails, as one does that returns before it has begun', async () => {
    const code = `test('returns', () => { if (expect) return; expect(1).toBe(1); });`;
    const { exit, stdout, stderr, file } = await runTest(code, {});
    expect(stderr).toMatch(/expected any number of assertion/);
    expect(stdout.trimEnd().split('\n').at(-1)).toBe(`Failed: ${relative(ROOT, file)} > returns`);
    expect(exit).toBe(1);
  });

  test('cannot be left out unseen where CI is set and a tool is missing', async () => {
    const code = `test('one', () => expect(1).toBe(1));`;
    const { exit, stdout, stderr } = await runTest(code, { CI: 'true', PATH: '/nowhere' });
    expect(stdout + stderr).toMatch(
      /CI is set, so all tests must be run, and this machine lacks .*\bredis \(apt-get install redis-server\)/,
    );
    expect(exit).toBe(1);
  });
});
