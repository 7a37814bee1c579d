/** The numbers of the store port stand in one table: their order, and that no script of Redis repeats one. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { STEP_MS, STEP_TAGS_MAX, STEPS_MAX } from '../../server/domain/activity.ts';
import { CONTACT_GRAIN_MS, scripts } from '../../server/engines/redis/scripts.ts';
import { LEASE_GAP_MS } from '../../server/engines/redis/spared-leases.ts';
import { HANDED_OUT_MAX, STORE_LIMITS, TIME_BUDGETS } from '../../server/ports/limits.ts';

const LUA_FOLDER = new URL('../../server/engines/redis/scripts', import.meta.url).pathname;

test('each time budget of a call is over before the next', () => {
  const { commitWithinMs, callWithinMs, callCheckMs, storeWithinMs, responseWithinMs } = TIME_BUDGETS;
  expect(commitWithinMs).toBeLessThan(callWithinMs);
  expect(callWithinMs + callCheckMs).toBeLessThanOrEqual(storeWithinMs);
  expect(storeWithinMs).toBeLessThan(responseWithinMs);
});

test('a lease is renewed several times before it ends', () => {
  expect(3 * STORE_LIMITS.renewLeaseEveryMs).toBeLessThan(STORE_LIMITS.leaseMs);
});

describe('the scripts of Redis', () => {
  const files = readdirSync(LUA_FOLDER).map((name) => ({
    name,
    text: readFileSync(join(LUA_FOLDER, name), 'utf8'),
  }));

  test('hold no number of the store port themselves', () => {
    expect(files.length).toBeGreaterThan(10);
    const limits = new Set<number>(Object.values(STORE_LIMITS));
    const repeated = files.flatMap(({ name, text }) =>
      [...text.matchAll(/\b\d+(?:\.\d+)?(?:e\d+)?\b/gi)]
        .filter(([number]) => limits.has(Number(number)))
        .map(([number]) => `${name}: ${number}`),
    );
    expect(repeated).toEqual([]);
  });

  test('compare the letters of operations with bytes, as which they come', () => {
    const compared = files.flatMap(({ text }) => [...text.matchAll(/\bletter (?:[=~<>]=|[<>]) (\S+)/g)]);
    expect(compared.length).toBeGreaterThan(40);
    for (const [, other] of compared) expect(other).toMatch(/^(byte\('\w'\),?|LAST_CAPITAL)/);
    expect(scripts.commitOutput.text).toContain('letter == 84');
    expect(scripts.commitOutput.text).not.toMatch(/\bbyte\('\w'\)/);
  });

  test('get the numbers of the store port in their second line', () => {
    const { leaseMs, sweepGapMs, unreportedMs, removedAgentsMax, endedMax } = STORE_LIMITS;
    const { outputBytesMax, outputPieceBytes, outputReserveBytes } = STORE_LIMITS;
    const { outputReplacedMax, outputPageBytes, outputFilledShareMax } = STORE_LIMITS;
    for (const { text } of Object.values(scripts)) {
      expect(text.split('\n')[1]).toBe(
        'local LEASE_MS, LEASE_GAP_MS, SWEEP_GAP_MS, UNREPORTED_MS, REMOVED_AGENTS_MAX, ENDED_MAX, ' +
          'OUTPUT_BYTES_MAX, OUTPUT_PIECE_BYTES, OUTPUT_RESERVE_BYTES, OUTPUT_REPLACED_MAX, OUTPUT_PAGE_BYTES, ' +
          'OUTPUT_FILLED_SHARE_MAX, HANDED_OUT_MAX, CONTACT_GRAIN_MS, ' +
          `STEP_MS, STEPS_MAX, STEP_TAGS_MAX = ${leaseMs}, ${LEASE_GAP_MS}, ` +
          `${sweepGapMs}, ${unreportedMs}, ` +
          `${removedAgentsMax}, ${endedMax}, ${outputBytesMax}, ${outputPieceBytes}, ${outputReserveBytes}, ` +
          `${outputReplacedMax}, ${outputPageBytes}, ${outputFilledShareMax}, ${HANDED_OUT_MAX}, ` +
          `${CONTACT_GRAIN_MS}, ` +
          `${STEP_MS}, ${STEPS_MAX}, ${STEP_TAGS_MAX}`,
      );
    }
  });
});
