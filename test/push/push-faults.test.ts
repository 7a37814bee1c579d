/**
 * Random agents: they respond, cut, reset, write garbage or close at any point of a connection, while pushes
 * share and reuse connections. Every push must resolve, and its outcome must be true: "untaken" without a
 * status means that the agent received no byte of this task; "acknowledged" means that the agent acknowledged
 * it.
 */
import type { Socket } from 'node:net';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createPusher } from '../../server/push/pusher.ts';
import { createClock } from '../../server/system/clock.ts';
import { SILENT } from '../harness/silent-log.ts';
import { openAgent, openPusher } from './push-fixture.ts';
import { pushTask, TASK, untakenFor } from './push-task.ts';
import { buildResponse, startAgent } from './scripted-agent.ts';

const ACTIONS = [
  'take',
  'have',
  'refuse',
  'busy',
  'break',
  'end',
  'reset',
  'garbage',
  'half',
  'interim',
  'take and close',
  'take and reset',
] as const;
type Action = (typeof ACTIONS)[number];

const RESPONSES: Readonly<Partial<Record<Action, string>>> = {
  take: buildResponse(202),
  have: buildResponse(409),
  refuse: buildResponse(404),
  busy: buildResponse(503, 'retry-after: 1\r\n'),
  break: buildResponse(500),
  garbage: '\u0000\u0001 what?\r\n\r\n',
  half: 'HTTP/1.1 202 Acc',
  interim: 'HTTP/1.1 103 Early Hints\r\n\r\n',
  'take and close': buildResponse(202, 'connection: close\r\n'),
  'take and reset': buildResponse(202),
};

function perform(socket: Socket, action: Action): void {
  const text = RESPONSES[action];
  const ends: readonly Action[] = ['end', 'half', 'interim', 'take and close'];
  if (text !== undefined) socket.write(text);
  if (ends.includes(action)) socket.end();
  if (action === 'reset' || action === 'take and reset') socket.resetAndDestroy();
}

const scripts = fc.array(fc.constantFrom(...ACTIONS), { minLength: 1, maxLength: 12 });
const onOpen = fc.array(fc.constantFrom<'wait' | 'end' | 'reset'>('wait', 'wait', 'wait', 'end', 'reset'), {
  minLength: 1,
  maxLength: 6,
});

test('whatever an agent does, the outcome of the push is true', async () => {
  await fc.assert(
    fc.asyncProperty(scripts, onOpen, fc.integer({ min: 1, max: 4 }), async (script, opens, width) => {
      const seen = new Map<string, Action>();
      let connection = 0;
      const agent = await startAgent(
        (socket, request, nth) => {
          const action = script[(nth - 1) % script.length] ?? 'end';
          seen.set(JSON.parse(request.body).request_id, action);
          perform(socket, action);
        },
        {
          onConnection: (socket) => {
            const action = opens[connection % opens.length];
            connection += 1;
            if (action === 'end') socket.end();
            if (action === 'reset') socket.resetAndDestroy();
          },
        },
      );
      const clock = createClock();
      const pusher = createPusher({
        log: SILENT,
        clock,
        secrets: [],
        allow: [],
        deny: [],
        limits: { responseWithinMs: 2_000 },
      });
      const ids = Array.from({ length: 12 }, (_, nth) => `task-${nth}`);
      const lanes = Array.from({ length: width }, (_, lane) =>
        ids.filter((_id, nth) => nth % width === lane),
      );
      await Promise.all(
        lanes.map(async (lane) => {
          for (const request_id of lane) {
            const outcome = await pushTask(pusher, agent.url, { task: { ...TASK, request_id } });
            const action = seen.get(request_id);
            const details = `${request_id}: ${action} reported as ${JSON.stringify(outcome)}`;
            const took = action === 'take' || action === 'have' || action?.startsWith('take and') === true;
            if (outcome.kind === 'acknowledged') expect(took, details).toBe(true);
            if (outcome.kind === 'untaken' && outcome.status === null)
              expect(action, details).toBeUndefined();
            if (outcome.kind === 'untaken' && outcome.status !== null)
              expect(['refuse', 'busy'], details).toContain(action);
            if (outcome.kind === 'unknown' && outcome.status !== null) expect(action, details).toBe('break');
          }
        }),
      );
      // At most one request for each task: nothing below the gateway repeats a request.
      expect(agent.requests.length).toBe(seen.size);
      await pusher.close();
      await agent.close();
    }),
    { numRuns: 150, verbose: 1 },
  );
});

test('A push that the end of the gateway meets while its HTTP client is loaded reaches no agent.', async () => {
  const agent = await openAgent((socket) => socket.write(buildResponse(202)));
  const pusher = openPusher();
  const pushed = pushTask(pusher, agent.url);
  await pusher.close();
  expect(await pushed).toEqual(untakenFor('the gateway is shutting down'));
  expect(agent.requests).toEqual([]);
});
