/** Redocly's linter and diff as functions: each runs its command and returns what it found. */
import { join } from 'node:path';
import { runNode } from './run-tool.ts';

const root = join(import.meta.dirname, '..', '..');
const redocly = join(root, 'node_modules', '@redocly', 'cli', 'bin', 'cli.js');

type Impact = 'major' | 'minor' | 'patch' | 'none';

/** A change between two documents, its rating and the reasons for it. */
export type Rating = {
  readonly path: string;
  readonly impact: Impact;
  readonly reasons: readonly string[];
};

type Report = {
  readonly changes: readonly {
    readonly path: string;
    readonly kind: 'added' | 'removed' | 'modified';
    readonly impact: Impact;
    readonly verdicts: readonly { readonly ruleId: string; readonly message: string }[];
  }[];
};

/** Compares two documents and returns every change with its rating. */
export async function diffDocuments(base: string, revision: string): Promise<readonly Rating[]> {
  const options = ['--config', 'spec/redocly.yaml', '--format', 'json', '--fail-on', 'none'];
  const { output, errors } = await runNode([redocly, 'diff', base, revision, ...options]);
  if (!output.startsWith('{')) throw new Error(`redocly diff failed: ${errors}`);
  const report: Report = JSON.parse(output);
  return report.changes.map(({ path, kind, impact, verdicts }) => {
    const reasons = verdicts.map(({ message }) => message);
    // The tool accepts that a header of a webhook is removed; an agent that reads it would miss it.
    return path.startsWith('#/webhooks/') && kind === 'removed'
      ? { path, impact: 'major', reasons: [...reasons, 'Something was removed from a push.'] }
      : { path, impact, reasons };
  });
}

/**
 * Lints documents with the rules of `spec/redocly.yaml`; returns the findings as text, empty if there are
 * none.
 */
export async function lintWithRedocly(...documents: readonly string[]): Promise<string> {
  const options = ['--config', 'spec/redocly.yaml', '--format', 'stylish', '--max-problems', '50'];
  const { code, output, errors } = await runNode([redocly, 'lint', ...documents, ...options]);
  return code === 0 ? '' : `${output}${errors}`;
}
