/** What the reports of an agent leave behind when the gateway has them. */
import { expect, test } from 'vitest';
import { createReports } from '../../sdk/agent/reports.ts';
import type { AgentId, RequestId } from '../../sdk/contract.ts';
import { ConnectionError } from '../../sdk/errors.ts';
import { createSdkClock } from './sdk-clock.ts';

test('The pauses between reports leave nothing on the signals that could have ended them.', async () => {
  const pauses: (AbortSignal | undefined)[] = [];
  let failuresLeft = 3;
  const reports = createReports({
    agent_id: 'A' as AgentId,
    registerAgain: async () => undefined,
    logEvent: () => undefined,
    clock: { ...createSdkClock(), sleep: async (_ms, signal) => void pauses.push(signal) },
    calls: {
      async reportResult({ request_id, status }) {
        failuresLeft -= 1;
        if (failuresLeft >= 0) throw new ConnectionError('connection_failed', 'down');
        return { ok: true, request_id, status, accepted: true };
      },
    },
  });
  const [end, hurry] = [new AbortController(), new AbortController()];
  const report = { agent_id: 'A' as AgentId, request_id: 't1' as RequestId, status: 'success' } as const;
  expect(await reports.deliver(report, end.signal, hurry.signal)).toBe('delivered');
  for (const one of [hurry, end]) one.abort();
  expect(pauses.map((signal) => signal?.aborted)).toEqual([false, false, false]);
});
