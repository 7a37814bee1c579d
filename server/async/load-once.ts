/**
 * What is loaded when it is first needed: a package, or generated files. A load that fails may succeed later
 * (a process that is out of descriptors cannot open a file), so a failure is reported to the callers that
 * wait for it, and not kept.
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
