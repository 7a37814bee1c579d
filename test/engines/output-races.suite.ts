/** Output while its task settles, moves and gets another writer at once: what was accepted is there, once. */
import { expect, test } from 'vitest';
import type { Store } from '../../server/ports/store.ts';
import { append, outputBatch, readPieces, textOf } from './output-calls.ts';
import { createRandom, drawSeed, endingOf, submit, until } from './store-under-test.ts';
import type { SuiteContext } from './suite-context.ts';

const ROUNDS = 15;
const ROUNDS_MAX = 60;
const CALLS = 24;

type Random = ReturnType<typeof createRandom>;
/** The pieces of calls that were accepted, in the order of each writer's, and of calls that were not. */
type Outcome = { readonly accepted: string[][]; readonly refused: string[] };

export function describeOutputRaces({ store, reopen }: SuiteContext): void {
  const seed = drawSeed();
  test(`output is what was accepted, settled, moved and begun anew at once (seed ${seed})`, async () => {
    const random = createRandom(seed);
    let accepted = 0;
    let refused = 0;
    // Races that all go the same way try little: where replies are slow, most writes come behind the end.
    const isEnough = (): boolean => Math.min(accepted, refused) > ROUNDS;
    for (let round = 0; round < ROUNDS || (!isEnough() && round < ROUNDS_MAX); round += 1) {
      const id = `race-${round}`;
      await submit(store(), id);
      const ending = new AbortController();
      const shown: string[] = [];
      const reading = follow(store(), id, shown, ending.signal);
      const outcome = await race(store(), id, random, round % 2 === 1);
      const stored = await readPieces(store(), id);
      await until('the reader has all', () => shown.length >= stored.length);
      ending.abort();
      await reading;
      expect(shown).toEqual(stored);
      requireKept(stored, outcome);
      if (round % 5 === 0) expect(await readPieces(await reopen(), id)).toEqual(stored);
      accepted += outcome.accepted.flat().length;
      refused += outcome.refused.length;
    }
    expect(isEnough()).toBe(true);
  });
}

/**
 * Makes the calls, each after a random pause: most append, some begin, one reassigns, one settles; `isLate`:
 * not before a write has its reply, because with slow replies it would come before nearly all of them.
 */
async function race(store: Store, id: string, random: Random, isLate: boolean): Promise<Outcome> {
  const outcome: Outcome = { accepted: [], refused: [] };
  const replied = Promise.withResolvers<void>();
  const calls = Array.from({ length: CALLS }, async (_, number) => {
    const pieces = Array.from({ length: 1 + random.next(3) }, (_, index) => textOf(`${number}.${index}`));
    const writer = `w${random.next(3)}`;
    const kind = number === CALLS - 1 ? 'settles' : random.next(8) === 0 ? 'reassigns' : 'writes';
    for (let turns = random.next(kind === 'settles' ? 60 : 30); turns > 0; turns -= 1)
      await new Promise((resolve) => setImmediate(resolve));
    if (kind === 'settles') {
      if (isLate) await replied.promise;
      await settle(store, id);
    } else if (kind === 'reassigns')
      await store.commit(await outputBatch(store, id, { begins: { writer: null } }));
    else {
      if (await write(store, id, writer, pieces)) outcome.accepted.push(pieces);
      else outcome.refused.push(...pieces);
      replied.resolve();
    }
  });
  await Promise.all(calls);
  return outcome;
}

async function settle(store: Store, id: string): Promise<void> {
  const append = { pieces: [textOf('the end')] };
  for (;;) {
    const batch = await endingOf(store, id, { output: { request_id: id, append } });
    if ((await store.commit(batch)).ok) return;
  }
}

/** As the present writer, or by a commit that begins. Whether the pieces were accepted. */
async function write(store: Store, id: string, writer: string, pieces: readonly string[]): Promise<boolean> {
  let result: { readonly ok: boolean } = await append(store, id, writer, 0, []);
  if (result.ok && 'next' in result) result = await append(store, id, writer, Number(result.next), pieces);
  if (result.ok) return isStored(store, id, pieces);
  const begins = { writer, reset: '{"reset":true}' };
  const batch = await outputBatch(store, id, { begins, append: { pieces, by: { writer, from: 0 } } });
  if (!(await store.commit(batch)).ok) return false;
  return await isStored(store, id, pieces);
}

/**
 * Two calls of one writer may send from the same piece on: then the later one's are repeats of the other's,
 * though they differ. What was stored must be shown from now on.
 */
async function isStored(store: Store, id: string, pieces: readonly string[]): Promise<boolean> {
  const stored = (await readPieces(store, id)).map((piece) => piece.slice(piece.indexOf(':') + 1));
  return pieces.every((piece) => stored.includes(piece));
}

async function follow(store: Store, id: string, shown: string[], signal: AbortSignal): Promise<void> {
  for await (const _ of store.watch(`output:${id}`, signal))
    shown.push(...(await readPieces(store, id, shown.length)));
}

/** Numbers without holes, each accepted piece once and in its order, the settling commit's last. */
function requireKept(stored: readonly string[], { accepted }: Outcome): void {
  const texts = stored.map((piece) => piece.slice(piece.indexOf(':') + 1));
  expect(stored.map((piece) => Number.parseInt(piece, 10))).toEqual(stored.map((_, index) => index + 1));
  expect(texts.at(-1)).toBe(textOf('the end'));
  for (const pieces of accepted) {
    const places = pieces.map((piece) => texts.indexOf(piece));
    expect(places).toEqual(places.map((_, index) => (places[0] ?? 0) + index));
    for (const piece of pieces) expect(texts.filter((text) => text === piece)).toHaveLength(1);
  }
}
