/**
 * The thread that owns the database file: it opens it, writes one group after the other, closes it. A disk that is
 * stuck stops this thread alone.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { openDatabase } from './database.ts';
import type { FromWriter, ToWriter } from './writer.ts';

if (!parentPort) throw new Error('The writer runs as a thread of the gateway only.');
const port = parentPort;
const answer = (message: FromWriter): void => port.postMessage(message);
const tell = (error: unknown): FromWriter => ({
  ok: false,
  reason: error instanceof Error ? error.message : String(error),
});

try {
  const database = openDatabase(String(workerData));
  port.on('message', (job: ToWriter) => {
    if (job === 'close') {
      database.close();
      port.close();
      return;
    }
    try {
      database.apply(job.sets, job.deletes);
      answer({ ok: true });
    } catch (error) {
      answer(tell(error));
    }
  });
  answer({ ok: true });
} catch (error) {
  answer(tell(error));
}
