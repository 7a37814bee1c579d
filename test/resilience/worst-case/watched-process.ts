/**
 * Loaded into the gateway before it starts: says how much CPU the longest uninterrupted piece of its main
 * thread took. It looks in each tick of the event loop in which a millisecond has passed, so shorter pieces
 * that follow one another count as one, up to that millisecond. It watches from the moment at which the
 * gateway listens, and again from `GET /begin`; `GET /end` ends and returns milliseconds.
 */
import { subscribe } from 'node:diagnostics_channel';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isMainThread } from 'node:worker_threads';
import { readWholeDocument } from '../../../server/http/pages.ts';
import { loadContract } from '../../../server/http/request/contract.ts';

const LOOK_EVERY_MS = 1;

if (isMainThread) {
  // After a start this is loaded in pieces of its own, which are not what is measured.
  await import('undici');
  (await loadContract(readWholeDocument())).operations[0]?.prepare();
  let longestMs = 0;
  let beforeMs = 0;
  let timer: NodeJS.Timeout | undefined;
  const look = (): void => {
    const { user, system } = process.threadCpuUsage();
    const nowMs = (user + system) / 1_000;
    longestMs = Math.max(longestMs, nowMs - beforeMs);
    beforeMs = nowMs;
  };
  const begin = (): void => {
    clearInterval(timer);
    look();
    longestMs = 0;
    timer = setInterval(look, LOOK_EVERY_MS).unref();
  };
  const server = createServer((request, response) => {
    if (request.url === '/begin') begin();
    else clearInterval(timer);
    response.end(String(longestMs));
  });
  subscribe('tracing:net.server.listen:asyncEnd', begin);
  server.listen(0, '127.0.0.1', () => {
    console.log(`watched on port ${(server.address() as AddressInfo).port}`);
  });
  server.unref();
}
