/** Plays scenarios as checks look at them, and keeps what each of them came to. */
import type { Exchange } from './exchanges.ts';
import { Finding } from './findings.ts';
import type { Requirement } from './requirements.ts';

/** What a scenario saw or threw, and what was sent meanwhile. */
export type Played = ({ readonly seen: unknown } | { readonly error: unknown }) & {
  readonly exchanges: readonly Exchange[];
};
/** Returns what a scenario saw; throws what it threw. */
export type LookAt<Name extends string> = (name: Name) => unknown;

/** Creates what looks at scenarios that were played; their exchanges go into the set. */
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
 * Plays each scenario when the check of one of these requirements first looks at it, together with all that
 * are wanted by then.
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
      // A check of all scenarios passes over those that end so.
      throw new Finding('It is played next.');
    };
    for (const { id } of asked) {
      try {
        check(id, ask);
      } catch {
        // Its verdict is given when all is played.
      }
    }
    if (unplayed.size === 0) return;
    await play([...unplayed]);
  }
}
