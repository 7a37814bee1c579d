/**
 * Loaded into the gateway before it starts: says how much CPU the longest uninterrupted piece of its main
 * thread took. `GET /begin` begins to watch, `GET /end` ends and returns milliseconds.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isMainThread } from 'node:worker_threads';

if (isMainThread) {
  let isWatching = false;
  let longestMs = 0;
  let beforeMs = 0;
  const readMs = (): number => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1_000;
  };
  const look = (): void => {
    const nowMs = readMs();
    longestMs = Math.max(longestMs, nowMs - beforeMs);
    beforeMs = nowMs;
    if (isWatching) setImmediate(look);
  };
  const server = createServer((request, response) => {
    isWatching = request.url === '/begin';
    if (isWatching) {
      longestMs = 0;
      beforeMs = readMs();
      setImmediate(look);
    }
    response.end(String(longestMs));
  });
  server.listen(0, '127.0.0.1', () => {
    console.log(`watched on port ${(server.address() as AddressInfo).port}`);
  });
  server.unref();
}
