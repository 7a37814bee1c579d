/** The pause before the next page of a list. After a page that holds something there is none. */
import { systemClock } from '../../clock.ts';
import { type Backoff, choosePauseMs } from '../../waiting.ts';

/** A gateway that looks for few among many sends some empty pages. Other servers may send only those. */
const EMPTY: Backoff = { firstMs: 10, maxMs: 250 };

/** Creates the pause of one list. It takes how much the last page held, and ends when the signal fires. */
export function createPagePause(signal: AbortSignal): (held: number) => Promise<void> {
  let empty = 0;
  return async (held) => {
    if (held > 0) empty = 0;
    else await systemClock.sleep(choosePauseMs(systemClock, EMPTY, empty++), signal);
  };
}
