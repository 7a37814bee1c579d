/** One check: it looks at one requirement. */
import type { Kit } from './kit.ts';

/** Resolves where the requirement holds, else throws what `findings.ts` describes. */
export type Check = (kit: Kit) => Promise<void>;

/** A check that waits for most of its time, and is made with `--slow` alone. */
export type SlowCheck = { readonly seconds: number; readonly check: Check };
