/**
 * Inspects the pages of a database: a flipped bit in SQLite's own pages can hide a row, and a row that is not
 * found reads as absent. A thread inspects the file once after each start, so that the log names damage
 * before a caller meets it.
 */
import { statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { messageOf } from '../../async/error-message.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import { outageKindOf } from './outage-kind.ts';

/** Two processors have enough to do with a start. */
const INSPECT_AFTER_MS = 1_000;
/** It takes about a second a gigabyte, and cannot be interrupted: a stop would wait for it. */
const INSPECTED_BYTES_MAX = 512 * 2 ** 20;
/** The pages are garbage at once: if there were more room, they would only be held from the system. */
const YOUNG_MB_MAX = 2;
const THREAD = new URL(
  import.meta.url.endsWith('.ts') ? './inspection-thread.ts' : './inspection-thread.js',
  import.meta.url,
);

/**
 * Describes the damage, naming the file; undefined if there is none. Throws if the disk fails meanwhile,
 * which says nothing of the file.
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

/** Inspects the file once it is served, unless it is closed before. */
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
