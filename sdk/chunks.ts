/**
 * Loads the parts of the client that runs and subscriptions alone need, when the first one begins. Bundlers
 * make a file of its own (a chunk) of each part: a page that only makes calls does not load them.
 */
import { linkSignals } from './clock.ts';
import { AbortError, TaskGatewayError } from './errors.ts';

/** Resolves to the part as `loadChunk` does. Rejects with an `AbortError` when the signal fires first. */
export async function requireChunk<Part>(
  load: () => Promise<Part>,
  signal: AbortSignal | undefined,
): Promise<Part> {
  const part = await loadChunk(load, signal);
  if (part) return part;
  throw new AbortError(signal?.reason);
}

/**
 * Resolves to the part that `load` imports, or to undefined when the signal fires first. Rejects with a
 * `TaskGatewayError` (`chunk_not_loaded`) when it can't be loaded: nothing was sent then, and the next use
 * tries again.
 */
export async function loadChunk<Part>(
  load: () => Promise<Part>,
  signal: AbortSignal | undefined,
): Promise<Part | undefined> {
  const linked = linkSignals(signal);
  const aborted = new Promise<undefined>((resolve) => {
    linked.signal.addEventListener('abort', () => resolve(undefined));
  });
  try {
    return signal?.aborted ? undefined : await Promise.race([load(), aborted]);
  } catch (cause) {
    throw new TaskGatewayError(
      'chunk_not_loaded',
      'A file of the SDK could not be loaded. Serve all files of the bundle, or reload the page.',
      { cause },
    );
  } finally {
    linked.abort();
  }
}
