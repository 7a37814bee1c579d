/**
 * Random agents: they answer, cut, reset, babble or close at any point of a connection's life, while pushes share and
 * reuse connections. Whatever they do, every push settles, and a claim about the agent is true: "untaken" with no
 * status means that not one byte of this task came in; "acknowledged" means that the agent said so.
 */

import type { Socket } from 'node:net';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createPusher } from '../../server/push/pusher.ts';
import { pushTask, TASK } from './push-task.ts';
import { answer, startAgent } from './scripted-agent.ts';

const DEEDS = [
  'take',
  'have',
  'refuse',
  'busy',
  'break',
  'end',
  'reset',
  'babble',
  'half',
  'interim',
  'take and close',
  'take and reset',
] as const;
type Deed = (typeof DEEDS)[number];

const ANSWERS: Readonly<Partial<Record<Deed, string>>> = {
  take: answer(202),
  have: answer(409),
  refuse: answer(404),
  busy: answer(503, 'retry-after: 1\r\n'),
  break: answer(500),
  babble: '\u0000\u0001 what?\r\n\r\n',
  half: 'HTTP/1.1 202 Acc',
  interim: 'HTTP/1.1 103 Early Hints\r\n\r\n',
  'take and close': answer(202, 'connection: close\r\n'),
  'take and reset': answer(202),
};

function act(socket: Socket, deed: Deed): void {
  const text = ANSWERS[deed];
  const ends: readonly Deed[] = ['end', 'half', 'interim', 'take and close'];
  if (text !== undefined) socket.write(text);
  if (ends.includes(deed)) socket.end();
  if (deed === 'reset' || deed === 'take and reset') socket.resetAndDestroy();
}

const deeds = fc.array(fc.constantFrom(...DEEDS), { minLength: 1, maxLength: 12 });
const greetings = fc.array(
  fc.constantFrom<'wait' | 'end' | 'reset'>('wait', 'wait', 'wait', 'end', 'reset'),
  {
    minLength: 1,
    maxLength: 6,
  },
);

test('whatever an agent does, what is told of it is true', async () => {
  await fc.assert(
    fc.asyncProperty(deeds, greetings, fc.integer({ min: 1, max: 4 }), async (script, greets, width) => {
      const seen = new Map<string, Deed>();
      let connection = 0;
      const agent = await startAgent(
        (socket, request, nth) => {
          const deed = script[(nth - 1) % script.length] ?? 'end';
          seen.set(JSON.parse(request.body).request_id, deed);
          act(socket, deed);
        },
        {
          onConnection: (socket) => {
            const greet = greets[connection % greets.length];
            connection += 1;
            if (greet === 'end') socket.end();
            if (greet === 'reset') socket.resetAndDestroy();
          },
        },
      );
      const clock = { monotonicMs: () => performance.now() };
      const pusher = createPusher({
        clock,
        secrets: [],
        allow: [],
        deny: [],
        limits: { answerWithinMs: 2_000 },
      });
      const ids = Array.from({ length: 12 }, (_, nth) => `task-${nth}`);
      const lanes = Array.from({ length: width }, (_, lane) =>
        ids.filter((_id, nth) => nth % width === lane),
      );
      await Promise.all(
        lanes.map(async (lane) => {
          for (const request_id of lane) {
            const outcome = await pushTask(pusher, agent.url, { task: { ...TASK, request_id } });
            const deed = seen.get(request_id);
            const facts = `${request_id}: ${deed} told as ${JSON.stringify(outcome)}`;
            const took = deed === 'take' || deed === 'have' || deed?.startsWith('take and') === true;
            if (outcome.kind === 'acknowledged') expect(took, facts).toBe(true);
            if (outcome.kind === 'untaken' && outcome.status === null) expect(deed, facts).toBeUndefined();
            if (outcome.kind === 'untaken' && outcome.status !== null)
              expect(['refuse', 'busy'], facts).toContain(deed);
            if (outcome.kind === 'unknown' && outcome.status !== null) expect(deed, facts).toBe('break');
          }
        }),
      );
      // At most once each: nothing is repeated beneath the gateway.
      expect(agent.requests.length).toBe(seen.size);
      await pusher.close();
      await agent.close();
    }),
    { numRuns: 150, verbose: 1 },
  );
});
