/** The check of Node's version: one sentence on a Node that is too old, no output on a newer one. */
import { execFile, execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';

const CHECK = new URL('../../server/node-version.js', import.meta.url).pathname;
const source = readFileSync(CHECK, 'utf8');
const SENTENCE =
  /^Task Gateway needs Node 24\.18 or newer and this is Node \d+\.\d+\.\d+[^:]*: install Node 24 \(https:\/\/nodejs\.org\), or in a checkout on Linux x64 run "npm ci", which brings it for the npm scripts\.$/;

/** Runs the check as on a Node of that version; returns what it prints and its exit code. */
function runCheck(node: string): { printed: readonly string[]; exit: number | null } {
  const printed: string[] = [];
  let exit: number | null = null;
  runInNewContext(source, {
    process: {
      versions: { node },
      exit: (code: number) => {
        exit = code;
      },
    },
    console: { error: (text: string) => printed.push(text) },
  });
  return { printed, exit };
}

/** Every installed Node that is older than 24, by its version. */
function findOldNodes(): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const folder of new Set([...(process.env.PATH ?? '').split(':'), '/usr/bin', '/usr/local/bin'])) {
    const node = join(folder, 'node');
    try {
      if (!readdirSync(folder).includes('node')) continue;
      const version = execFileSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' }).trim();
      if (Number.parseInt(version, 10) < 24) found.set(version, node);
    } catch {
      // The folder does not exist, or the node in it does not run.
    }
  }
  return found;
}

describe('the check of Node’s version', () => {
  test('an older Node exits with one sentence', () => {
    for (const version of [
      ...['12.22.12', '14.21.3', '18.20.8', '20.20.2', '22.23.0', '23.11.1', '24.0.0', '24.17.9'],
    ]) {
      const { printed, exit } = runCheck(version);
      expect(exit, version).toBe(1);
      expect(printed).toHaveLength(1);
      expect(printed[0]).toMatch(SENTENCE);
      expect(printed[0]).toContain(version);
    }
  });

  test('a Node that is new enough passes without output', () => {
    for (const version of [
      ...['24.18.0', '24.21.0', '24.100.0', '25.0.0', '26.1.0', '100.0.0', '24.18.0-nightly'],
    ]) {
      expect(runCheck(version), version).toEqual({ printed: [], exit: null });
    }
  });

  test('it is written in a syntax that every Node can parse', () => {
    const code = source.replace(/\/\*[\s\S]*?\*\//g, '');
    expect(code).not.toMatch(/=>|`|\b(const|let|import|export|class|async|await)\b|\?\?|\?\.|\.\.\./);
  });

  test('a program that preloads it starts on this Node', async () => {
    const args = ['--import', CHECK, '--input-type=module', '-e', 'console.log("started")'];
    expect(execFileSync(process.execPath, args, { encoding: 'utf8' })).toBe('started\n');
  });

  test('on an old Node a program in TypeScript is not even read', async ({ skip }) => {
    const nodes = findOldNodes();
    skip(nodes.size === 0, 'there is no Node older than 24 on this machine');
    for (const [version, node] of nodes) {
      const missing = join(tmpdir(), 'a-program-that-is-not-there.ts');
      const { code, stdout, stderr } = await new Promise<{ code: unknown; stdout: string; stderr: string }>(
        (resolve) => {
          execFile(node, ['--import', CHECK, missing], (error, stdout, stderr) =>
            resolve({ code: error?.code, stdout, stderr }),
          );
        },
      );
      expect(code, stderr).toBe(1);
      expect(stdout).toBe('');
      expect(stderr.trimEnd()).toMatch(SENTENCE);
      expect(stderr).toContain(version);
    }
  });
});
