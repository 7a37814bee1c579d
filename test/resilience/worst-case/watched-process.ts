/**
 * Loaded into the gateway before it starts: says how much CPU the longest uninterrupted piece of its main
 * thread took. It looks in each tick of the event loop in which a millisecond has passed, so shorter pieces
 * that follow one another count as one, up to that millisecond. `GET /begin` begins to watch, `GET /end` ends
 * and returns milliseconds.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isMainThread } from 'node:worker_threads';

const LOOK_EVERY_MS = 1;

if (isMainThread) {
  let longestMs = 0;
  let beforeMs = 0;
  let timer: NodeJS.Timeout | undefined;
  const look = (): void => {
    const { user, system } = process.threadCpuUsage();
    const nowMs = (user + system) / 1_000;
    longestMs = Math.max(longestMs, nowMs - beforeMs);
    beforeMs = nowMs;
  };
  const server = createServer((request, response) => {
    clearInterval(timer);
    if (request.url === '/begin') {
      look();
      longestMs = 0;
      timer = setInterval(look, LOOK_EVERY_MS).unref();
    }
    response.end(String(longestMs));
  });
  server.listen(0, '127.0.0.1', () => {
    console.log(`watched on port ${(server.address() as AddressInfo).port}`);
  });
  server.unref();
}
