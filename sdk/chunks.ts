/**
 * Loads the parts of the client that only runs and subscriptions need, when the first one begins. Bundlers
 * make a file (a chunk) of each part, so a page that only makes calls never loads them.
 */
import { untilAborted } from './clock.ts';
import { AbortError, TaskGatewayError } from './errors.ts';

/**
 * Resolves to the part that `load` imports. Rejects with an `AbortError` when the signal fires first. Rejects
 * with a `TaskGatewayError` (`chunk_not_loaded`) when the part can't be loaded: nothing was sent by then, and
 * the next use tries again.
 */
export async function loadChunk<Part>(
  load: () => Promise<Part>,
  signal: AbortSignal | undefined,
): Promise<Part> {
  try {
    return await untilAborted(signal, load);
  } catch (cause) {
    if (cause instanceof AbortError) throw cause;
    throw new TaskGatewayError(
      'chunk_not_loaded',
      'A file of the SDK could not be loaded. Serve all files of the bundle, or reload the page.',
      { cause },
    );
  }
}
