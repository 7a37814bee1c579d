/** The tests that the kit's role of agents and its role of clients share. */
import { describe, expect, test } from 'vitest';
import { REQUIREMENTS } from './requirements.ts';
import type { Run } from './run-checks.ts';
import type { Found } from './scripted-runs.ts';
import { findMisquoted } from './tested-runs.ts';
import { exitCodeOf, summarize } from './verdicts.ts';

const LIMIT_MS = 600_000;
const ENDLESS = 'sleep 60';

type Role = {
  readonly role: 'agent' | 'client';
  readonly runCommand: (command: string, more: { limitMs?: number; signal?: AbortSignal }) => Promise<Run>;
  readonly checks: Readonly<Record<string, unknown>>;
  readonly controls: Readonly<Record<string, unknown>>;
  readonly tryControls: () => Promise<Found>;
  /** A command that ignores signals, and one that claims a success, if there is one. */
  readonly others: readonly string[];
  /** A command that ends at once fails more checks than this. */
  readonly failMin: number;
};

export function describeRole({
  role,
  runCommand,
  checks,
  controls,
  tryControls,
  others,
  failMin,
}: Role): void {
  describe.concurrent(`what is no ${role} passes nothing`, () => {
    test.each(['there-is-no-such-command', 'true', ENDLESS, ...others])('%s', async (command) => {
      const { counts, passed, applicable } = summarize(
        (await runCommand(command, { limitMs: 500 })).verdicts,
      );
      expect({ passed, pass: counts.pass, error: counts.error }).toEqual({ passed: 0, pass: 0, error: 0 });
      expect(applicable).toBe(counts.fail);
      expect(counts.fail).toBeGreaterThan(failMin);
    });

    test('and a run that is ended counts neither for nor against it', async ({ expect: wants }) => {
      const signal = AbortSignal.timeout(300);
      const summary = summarize((await runCommand(ENDLESS, { signal })).verdicts);
      wants([summary.counts.pass, summary.counts.fail, exitCodeOf(summary)]).toEqual([0, 0, 2]);
    });
  });

  describe(`every requirement of the role ${role}`, () => {
    const ours = REQUIREMENTS.filter((one) => one.role === role);
    const checked = Object.keys(checks).sort();

    test('has a check, or a reason why there is none, and never both', () => {
      const scored = ours.filter(({ not_scored }) => not_scored === undefined).map(({ id }) => id);
      expect(checked).toEqual(scored.sort());
    });

    test('that is checked has a control', () => {
      expect(Object.keys(controls).sort()).toEqual(checked);
    });

    test('stands in the documents as it is quoted', () => {
      expect(findMisquoted(ours)).toEqual([]);
    });

    test('is failed by its control', { timeout: LIMIT_MS }, async () => {
      const found = await tryControls();
      const missed = [...found].filter(([id, ids]) => !ids.includes(id)).map(([id]) => id);
      console.log(`figure: conformance-${role}-controls ${found.size}`);
      expect(missed).toEqual([]);
    });
  });
}
