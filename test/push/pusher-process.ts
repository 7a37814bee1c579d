/**
 * A process that makes every kind of push, closes the pusher, and must then exit by itself. Run by
 * `pusher-exit.test.ts`.
 */
import { createPusher } from '../../server/push/pusher.ts';
import { createClock } from '../../server/system/clock.ts';
import { SILENT } from '../harness/silent-log.ts';
import { pushTask } from './push-task.ts';
import { buildResponse, startAgent } from './scripted-agent.ts';

const agent = await startAgent((socket, _request, nth) => {
  if (nth === 1) socket.write(buildResponse(202));
  if (nth === 2) socket.write('HTTP/1.1 202 OK\r\ncontent-length: 10\r\n\r\nhalf');
  if (nth === 3) socket.resetAndDestroy();
});
const pusher = createPusher({
  clock: createClock(),
  log: SILENT,
  secrets: [],
  allow: [],
  deny: [],
  resolve: () => undefined,
});
const kinds: string[] = [];
for (const endpoint of [agent.url, agent.url, agent.url, 'http://127.0.0.1:1/', 'http://0.0.0.0/']) {
  kinds.push((await pushTask(pusher, endpoint)).kind);
}
const waiting = pushTask(pusher, agent.url);
const connecting = pushTask(pusher, 'http://agent.test/');
const handshaking = pushTask(pusher, agent.url.replace('http:', 'https:'));
await agent.until(({ requests }) => requests.length === 4);
await pusher.close();
kinds.push((await waiting).kind, (await connecting).kind, (await handshaking).kind);
await agent.close();
process.stdout.write(kinds.join(' '));
