/** Runs an action on many tasks. It shows the progress in words, offers a stop, and ends with a toast. */
import { useConsole } from '../../gateway/console.ts';
import { describeError } from '../../parts/describe-error.ts';
import { formatCount, formatNumber } from '../../parts/format.ts';
import { showToast } from '../../parts/toast.tsx';
import { underWay } from '../../parts/under-way.tsx';
import { cancelPages, describeCancelled, submitEach } from './bulk.ts';
import { type BulkTarget, createCancelPage, listEnded, submitOneAgain } from './bulk-calls.ts';

export type Bulk = {
  /**
   * Cancels the open tasks of a target, about `open` of them. Resolves with true if it cancelled exactly that
   * many.
   */
  cancel(target: BulkTarget, open: number): Promise<boolean>;
  /** Submits the ended tasks of a target again, about `ended` of them. */
  submitAgain(target: BulkTarget, ended: number): Promise<void>;
};

/** The actions. A running action continues when the page is left. */
export function useBulk(): Bulk {
  const { client, time } = useConsole();

  /** Runs `act` with a signal that Stop aborts. */
  async function run<Value>(
    act: (signal: AbortSignal, show: (text: string) => void) => Promise<Value>,
  ): Promise<Value> {
    const stopping = new AbortController();
    const stop = (): void => stopping.abort();
    const show = (text: string): void => {
      underWay.value = { text, stop };
    };
    try {
      return await act(stopping.signal, show);
    } finally {
      underWay.value = null;
    }
  }
  return {
    cancel: (target, open) =>
      run(async (signal, show) => {
        show(`Cancelling ${formatCount(open, 'task')}`);
        // Stop takes effect between two pages: a call that was sent is awaited.
        const readPage = createCancelPage(client, target, { signal: new AbortController().signal });
        const end = await cancelPages(readPage, signal, ({ cancelled }) =>
          show(`Cancelled ${formatNumber(cancelled)} of ${formatNumber(open)}`),
        );
        const why = end.kind === 'failed' ? ` ${describeError(end.error)}.` : '';
        const isGood = end.kind === 'finished' && end.totals.cancelled > 0;
        showToast({ tone: isGood ? 'ok' : 'bad', text: `${describeCancelled(end)}${why}` });
        return end.kind === 'finished' && end.totals.cancelled === open;
      }),
    submitAgain: (target, ended) =>
      run(async (signal, show) => {
        show(`Submitting ${formatCount(ended, 'task')} again`);
        const at = time.now.peek();
        const ids = await listEnded(client, target, signal).catch((error: unknown) => {
          showToast({ tone: 'bad', text: `Could not list the tasks: ${describeError(error)}.` });
          return null;
        });
        if (ids === null) return;
        const kept = new AbortController().signal;
        const end = await submitEach(
          ids,
          (request_id) => submitOneAgain(client, request_id, at, kept),
          signal,
          ({ submitted, failed }) =>
            show(`Submitted ${formatNumber(submitted + failed)} of ${formatNumber(ids.length)} again`),
        );
        const { submitted, failed } = end.totals;
        const why = end.kind === 'failed' ? ` ${formatNumber(failed)} not: ${describeError(end.error)}.` : '';
        const stopped = end.kind === 'stopped' ? 'Stopped: ' : '';
        const text = `${stopped}${formatCount(submitted, 'task')} submitted again.${why}`;
        showToast({ tone: end.kind === 'finished' ? 'ok' : 'bad', text });
      }),
  };
}
