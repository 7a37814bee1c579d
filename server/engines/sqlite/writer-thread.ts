/**
 * The thread that owns the file. It applies one group after the other, and sleeps in between until a group is
 * sent. When it has slept for a while, it moves the log into the database. So under a modest load no commit
 * has to wait for that.
 *
 * After a failed write nobody knows how much of the log is on the disk. So the next group opens the file
 * anew, which moves the whole log into the database before anything is added.
 */
import type { DatabaseSync } from 'node:sqlite';
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { messageOf } from '../../async/error-message.ts';
import { openFile } from './connection.ts';
import { type Decider, type GroupReply, openDecider } from './decider.ts';
import { createNameCheck } from './file-watch.ts';
import { outageKindOf } from './outage-kind.ts';
import { REPLIES, SENT, WRITTEN, type WriteFailure, type WriterData } from './writer.ts';

/** A pause of this length moves the log if at least this many groups are in it. */
const PAUSE_MS = 1_000;
const LOG_GROUPS_MIN = 25;

type OpenFile = { readonly sqlite: DatabaseSync; readonly decider: Decider };

if (!parentPort) throw new Error('The writer runs only as a thread of the gateway.');
const { path, requests, counts, earliest } = workerData as WriterData;

try {
  const file = open();
  parentPort.postMessage('open');
  writeUntilClosed(file, createNameCheck(path));
} catch (error) {
  parentPort.postMessage(describeFailure(error));
}

function open(): OpenFile {
  const sqlite = openFile(path);
  try {
    const decider = openDecider(sqlite);
    earliest[0] = decider.earliestMs();
    return { sqlite, decider };
  } catch (error) {
    sqlite.close();
    throw error;
  }
}

function writeUntilClosed(first: OpenFile, requireName: () => void): void {
  let file: OpenFile | null = first;
  let logGroups = 0;
  for (let received = 0; ; received = (received + 1) | 0) {
    const pauseMs = logGroups < LOG_GROUPS_MIN ? Number.POSITIVE_INFINITY : PAUSE_MS;
    if (!isSentWithin(pauseMs, received)) {
      file?.sqlite.exec('PRAGMA wal_checkpoint(PASSIVE)');
      logGroups = 0;
      isSentWithin(Number.POSITIVE_INFINITY, received);
    }
    const { message } = receiveMessageOnPort(requests) as { message: readonly unknown[] | 'close' };
    if (message === 'close') break;
    let reply: GroupReply | WriteFailure;
    try {
      // A group without calls asks whether the file takes writes. Opening anew could find another file under
      // the name.
      if (message.length === 1 || !file) requireName();
      file ??= open();
      reply = file.decider.apply(message);
      earliest[0] = file.decider.earliestMs();
      logGroups += 1;
    } catch (error) {
      file?.sqlite.close();
      file = null;
      logGroups = 0;
      reply = describeFailure(error);
    }
    if (reply !== 0) requests.postMessage(reply);
    Atomics.store(counts, REPLIES, Number(reply !== 0));
    Atomics.add(counts, WRITTEN, 1);
    Atomics.notify(counts, WRITTEN);
  }
  file?.sqlite.close();
}

/** Sleeps until a request beyond `received` is sent; false if none was sent within `pauseMs`. */
function isSentWithin(pauseMs: number, received: number): boolean {
  while (Atomics.load(counts, SENT) === received) {
    if (Atomics.wait(counts, SENT, received, pauseMs) === 'timed-out') return false;
  }
  return true;
}

function describeFailure(error: unknown): WriteFailure {
  return { failed: messageOf(error), kind: outageKindOf(error) };
}
