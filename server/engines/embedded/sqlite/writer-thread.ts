/**
 * The thread that owns the database file: it opens the file, writes one group after the other, and closes the
 * file. A stuck disk blocks only this thread. Between two groups it sleeps until the number of groups that
 * were sent changes: it has no event loop to wake. A longer pause moves the log into the database, so that no
 * commit waits for that under a modest load, and a start after a crash reads a short log.
 */
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { messageOf } from '../../../async/error-message.ts';
import { outageKindOf } from '../outage-kind.ts';
import type { Row } from '../storage/ordered-storage.ts';
import { type Database, openDatabase } from './database.ts';
import {
  SENT,
  SHORT_LOG,
  WRITTEN,
  type WriterData,
  type WriterGroup,
  type WriterMessage,
  type WriterRequest,
} from './writer.ts';

/** A pause this long moves the log, once this many groups are in it. */
const PAUSE_MS = 1_000;
const LOG_GROUPS_MIN = 25;

if (!parentPort) throw new Error('The writer runs only as a thread of the gateway.');
const port = parentPort;
const { path, counts, requests } = workerData as WriterData;
const post = (message: WriterMessage): void => port.postMessage(message);

try {
  const database = openDatabase(path, true);
  post({ ok: true });
  writeUntilClosed(database);
} catch (error) {
  post({ ok: false, kind: outageKindOf(error), reason: messageOf(error) });
}

function writeUntilClosed(database: Database): void {
  let logGroups = 0;
  let isLogShort = 0;
  for (let received = 0; ; received = (received + 1) | 0) {
    const pauseMs = logGroups < LOG_GROUPS_MIN ? Number.POSITIVE_INFINITY : PAUSE_MS;
    if (!isSentWithin(pauseMs, received)) {
      database.checkpoint();
      logGroups = 0;
      isSentWithin(Number.POSITIVE_INFINITY, received);
    }
    const request = (receiveMessageOnPort(requests) as { message: WriterRequest }).message;
    if (request === 'close') {
      database.close();
      return;
    }
    if (isLogShort !== Atomics.load(counts, SHORT_LOG)) {
      isLogShort = Atomics.load(counts, SHORT_LOG);
      database.keepLogShort(isLogShort === 1);
    }
    // When a write has failed, the log may seem to hold pages that are not on disk, so it is not moved any
    // more.
    logGroups = write(database, request) ? logGroups + 1 : Number.NEGATIVE_INFINITY;
  }
}

/** Sleeps until more requests were sent than this many; false when none was for this long. */
function isSentWithin(pauseMs: number, received: number): boolean {
  while (Atomics.load(counts, SENT) === received) {
    if (Atomics.wait(counts, SENT, received, pauseMs) === 'timed-out') return false;
  }
  return true;
}

/** Whether the group is on disk now. */
function write(database: Database, { sets, deletes }: WriterGroup): boolean {
  try {
    const rows = Array.from(
      { length: sets.length / 2 },
      (_, n): Row => [sets[2 * n] ?? '', sets[2 * n + 1] ?? ''],
    );
    database.apply(rows, deletes);
    Atomics.add(counts, WRITTEN, 1);
    Atomics.notify(counts, WRITTEN);
    return true;
  } catch (error) {
    post({ ok: false, kind: outageKindOf(error), reason: messageOf(error) });
    return false;
  }
}
