/**
 * Inspects the pages of a database. A flipped bit in SQLite's own pages can hide a row, which then reads as
 * absent. After each start a thread inspects the file once, so that the log names damage before a caller
 * meets it.
 */
import { statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { messageOf } from '../../async/error-message.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import { outageKindOf } from './outage-kind.ts';

/** A start keeps two processors busy, so the inspection waits. */
const INSPECT_AFTER_MS = 1_000;
/**
 * An inspection takes about a second for a gigabyte and cannot be interrupted, so that a stop would wait for
 * it.
 */
const INSPECTED_BYTES_MAX = 512 * 2 ** 20;
/** Inspected pages are garbage at once. More room would only keep memory from the system. */
const YOUNG_MB_MAX = 2;
const THREAD = new URL(
  import.meta.url.endsWith('.ts') ? './inspection-thread.ts' : './inspection-thread.js',
  import.meta.url,
);

/**
 * Describes the damage and names the file; undefined without damage. Throws if the disk fails, which says
 * nothing of the file.
 */
export function findDamage(path: string): string | undefined {
  let sqlite: DatabaseSync | undefined;
  try {
    sqlite = new DatabaseSync(path, { readOnly: true });
    const report = String(Object.values(sqlite.prepare('PRAGMA quick_check(1)').get() ?? {})[0]);
    return report === 'ok' ? undefined : describeDamage(path, report);
  } catch (error) {
    if (outageKindOf(error) === 'disk_fails') throw error;
    return describeDamage(path, messageOf(error));
  } finally {
    sqlite?.close();
  }
}

function describeDamage(path: string, report: string): string {
  return `the pages of ${path} are damaged (${report.replaceAll('\n', ' ')})`;
}

/** Inspects the file a second after the start, unless the store is closed before. */
export async function inspectOnce(
  path: string,
  { clock, log, closed }: { readonly clock: Clock; readonly log: Log; readonly closed: AbortSignal },
): Promise<void> {
  await clock.sleep(INSPECT_AFTER_MS, closed);
  if (closed.aborted) return;
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > INSPECTED_BYTES_MAX) {
    log.info(
      { database: path },
      'the database is too large to be inspected at a start: a backup inspects it',
    );
    return;
  }
  const resourceLimits = { maxYoungGenerationSizeMb: YOUNG_MB_MAX };
  const worker = new Worker(THREAD, { workerData: path, execArgv: [], resourceLimits });
  worker.unref();
  worker.on('message', (damage: string | undefined) => {
    if (damage === undefined) log.debug({}, 'the database was inspected: no damage');
    else log.error({ damage }, 'the database is damaged: rows may read as absent; restore it from a copy');
  });
  worker.on('error', (err) => log.warn({ err }, 'the database could not be inspected for damage'));
  closed.addEventListener('abort', () => void worker.terminate());
}
