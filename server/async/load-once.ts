/**
 * Loads a package, or generated files, at the first call that needs them. A load that fails may succeed
 * later: for example, a process without free descriptors cannot open a file. So a failure rejects the calls
 * that wait for it, and the next call loads again.
 */

/** Returns what loads once: calls share one load, and the first call after a failed one loads again. */
export function loadOnce<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined;
  return () => {
    loading ??= load().catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    return loading;
  };
}
