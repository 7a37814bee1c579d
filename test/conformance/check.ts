/** The type of a check, which looks at one requirement. */
import type { Kit } from './kit.ts';

/** Resolves if the requirement holds; otherwise throws what `findings.ts` describes. */
export type Check = (kit: Kit) => Promise<void>;

/** A check that waits for most of its time, and runs only with `--slow`. */
export type SlowCheck = { readonly seconds: number; readonly check: Check };
