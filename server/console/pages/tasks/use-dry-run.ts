/** Counts what a cancellation would do before it is confirmed. It makes the same calls, as a dry run. */
import { useEffect, useState } from 'preact/hooks';
import { useConsole } from '../../gateway/console.ts';
import { cancelPages } from './bulk.ts';
import { type BulkTarget, createCancelPage } from './bulk-calls.ts';

/** `open` is how many open tasks were counted so far. If `kind` is `counted`, these are all. */
export type DryRun = {
  readonly kind: 'counting' | 'counted' | 'failed';
  readonly open: number;
  readonly error?: unknown;
};

/** Counts the open tasks of a target once. Tasks chosen by their ids need no count: null. */
export function useDryRun(target: BulkTarget): DryRun | null {
  const { client } = useConsole();
  const [found, setFound] = useState<DryRun>({ kind: 'counting', open: 0 });
  useEffect(() => {
    if (target.kind === 'ids') return;
    const stopping = new AbortController();
    const { signal } = stopping;
    const readPage = createCancelPage(client, target, { signal, dry_run: true });
    void cancelPages(readPage, signal, ({ cancelled }) =>
      setFound({ kind: 'counting', open: cancelled }),
    ).then((end) => {
      const open = end.totals.cancelled;
      if (end.kind === 'finished') setFound({ kind: 'counted', open });
      else if (end.kind === 'failed') setFound({ kind: 'failed', open, error: end.error });
    });
    return () => stopping.abort();
  }, [target, client]);
  return target.kind === 'ids' ? null : found;
}
