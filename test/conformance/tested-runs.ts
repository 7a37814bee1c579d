/** What the tests of the kit ask of its runs and of its page. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PYTHON_ENV } from '../harness/python-tools.ts';
import { readBlocks } from '../harness/readme-blocks.ts';
import type { Requirement } from './requirements.ts';
import type { Run } from './run-checks.ts';

const ROOT = join(import.meta.dirname, '../..');
const DOCUMENTS = ['clients-and-agents.3.1.json', 'agent.3.1.json'];

/** Returns the requirements that are scored and did not pass, each with what was found. */
export function complaintsOf({ verdicts }: Pick<Run, 'verdicts'>): readonly string[] {
  return verdicts
    .filter(({ outcome }) => outcome !== 'pass' && outcome !== 'not_scored')
    .map(({ requirement, outcome, detail }) => `${outcome} ${requirement.id}: ${detail}`);
}

/** Returns the requirements with this verdict. */
export function idsOf({ verdicts }: Run, outcome: string): readonly string[] {
  return verdicts.filter((one) => one.outcome === outcome).map(({ requirement }) => requirement.id);
}

/** Returns the ids of requirements that claim to stand in the guide, and do not. */
export function findMisquoted(requirements: readonly Requirement[]): readonly string[] {
  const published = DOCUMENTS.map((name) =>
    plain(readFileSync(join(ROOT, 'generated/openapi', name), 'utf8')),
  ).join();
  const quoted = requirements.filter(({ document }) => document === 'guide');
  return quoted.filter(({ text }) => !published.includes(plain(text))).map(({ id }) => id);
}

/** Returns the words of a text, whatever stands between them in a table or in JSON. */
function plain(text: string): string {
  return (text.replaceAll(/\\[nrt]/g, ' ').match(/[\p{L}\p{N}_]+/gu) ?? []).join(' ');
}

/**
 * Runs the command of the page that has this option, with a file of the repository in place of the one that
 * it names. Returns its exit code, the last lines that it printed, and those that the page promises.
 */
export function runPage(
  option: string,
  named: string,
  file: string,
): Promise<{ code: number; printed: string | undefined; promised: string | undefined }> {
  const blocks = readBlocks(readFileSync(join(import.meta.dirname, 'README.md'), 'utf8'));
  const at = blocks.findIndex(({ text }) => text.includes(`${option} `));
  const command = blocks[at]?.text.replace(named, join(ROOT, file));
  const program = `${process.execPath} ${join(import.meta.dirname, 'bin/task-gateway-conformance.js')}`;
  return new Promise((resolve) => {
    const words = ['--norc', '-c', `npx() { shift; ${program} "$@"; }\n${command}`];
    execFile('bash', words, { env: { ...process.env, ...PYTHON_ENV } }, (error, stdout) => {
      const printed = stdout.split('\n\n').at(-1);
      if (error) console.log(stdout);
      resolve({ code: Number(error?.code ?? 0), printed, promised: blocks[at + 1]?.text });
    });
  });
}
