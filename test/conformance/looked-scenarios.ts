/** Plays scenarios as checks look at them, and keeps what each of them came to. */
import type { Exchange } from './exchanges.ts';
import { Finding } from './findings.ts';
import type { Requirement } from './requirements.ts';

/** What a scenario saw or threw, and the calls meanwhile. */
export type Played = ({ readonly seen: unknown } | { readonly error: unknown }) & {
  readonly exchanges: readonly Exchange[];
};
/** Returns what a scenario saw; throws what it threw. */
export type LookAt<Name extends string> = (name: Name) => unknown;

/** Creates the look at scenarios that were played. Their exchanges are added to the set. */
export function createLook<Name extends string>(
  played: ReadonlyMap<Name, Played>,
  looked: Set<Exchange> = new Set(),
): LookAt<Name> {
  return (name) => {
    const one = played.get(name);
    if (!one) throw new Error(`The scenario "${name}" was not played.`);
    for (const exchange of one.exchanges) looked.add(exchange);
    if ('error' in one) throw one.error;
    return one.seen;
  };
}

/**
 * Plays each scenario when a check of these requirements first looks at it, together with all others that are
 * wanted by then.
 */
export async function playLooked<Name extends string>(
  asked: readonly Requirement[],
  played: ReadonlyMap<Name, Played>,
  check: (id: string, look: LookAt<Name>) => void,
  play: (names: readonly Name[]) => Promise<void>,
): Promise<void> {
  for (;;) {
    const unplayed = new Set<Name>();
    const look = createLook(played);
    const ask: LookAt<Name> = (name) => {
      if (played.has(name)) return look(name);
      unplayed.add(name);
      // A check that looks at all scenarios skips those that end so.
      throw new Finding('It is played next.');
    };
    for (const { id } of asked) {
      try {
        check(id, ask);
      } catch {
        // The check gets its verdict when all scenarios are played.
      }
    }
    if (unplayed.size === 0) return;
    await play([...unplayed]);
  }
}
