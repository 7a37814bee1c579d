/**
 * Loads a package, or generated files, at the first call that needs them. A load may fail now and succeed
 * later: for example, when a process without free descriptors cannot open a file. So a failure rejects the
 * calls that wait for the load, and the next call loads again.
 */

/** Returns a function whose calls share one load. The first call after a failed load loads again. */
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
