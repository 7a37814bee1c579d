/**
 * The thread that owns the database file: it opens the file, writes one group after the other, and closes the
 * file. A stuck disk blocks only this thread.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { messageOf } from '../../../async/error-message.ts';
import { openDatabase } from './database.ts';
import type { WriterReply, WriterRequest } from './writer.ts';

if (!parentPort) throw new Error('The writer runs only as a thread of the gateway.');
const port = parentPort;
const reply = (message: WriterReply): void => port.postMessage(message);
const replyFailure = (error: unknown): void => reply({ ok: false, reason: messageOf(error) });

try {
  const database = openDatabase(String(workerData));
  port.on('message', (request: WriterRequest) => {
    if (request === 'close') {
      database.close();
      port.close();
      return;
    }
    try {
      database.apply(request.sets, request.deletes);
      reply({ ok: true });
    } catch (error) {
      replyFailure(error);
    }
  });
  reply({ ok: true });
} catch (error) {
  replyFailure(error);
}
