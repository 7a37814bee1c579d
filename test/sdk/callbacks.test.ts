/** A callback of the caller’s that throws is printed, and the run or the loop goes on. */
import { expect, test, vi } from 'vitest';
import { createClient } from '../../sdk/index.ts';
import { createGateway, submission } from './run-gateway.ts';
import { createScriptedFetch } from './scripted-fetch.ts';
import { doneFrame } from './scripted-server.ts';
import { elapse } from './sdk-clock.ts';

test('A run goes on when onProgress throws, which is printed.', async () => {
  const printed = vi.spyOn(console, 'error').mockImplementation(() => undefined);
  const gateway = createGateway();
  gateway.state.onSubmit = gateway.succeed;
  const run = gateway.client.runTask(submission, {
    onProgress() {
      throw new Error('a mistake of the caller’s');
    },
  });
  expect(await elapse(gateway.clock, run)).toMatchObject({ status: 'success' });
  expect(printed.mock.calls[0]?.[0]).toContain('onProgress failed');
  printed.mockRestore();
});

test('A listener of the caller’s that throws is printed, and the loop goes on.', async () => {
  const printed = vi.spyOn(console, 'error').mockImplementation(() => undefined);
  const fetch = createScriptedFetch(
    new Response(doneFrame('1'), { headers: { 'content-type': 'text/event-stream' } }),
  );
  const client = createClient({ baseUrl: 'http://gateway.test', auth: 'a-good-secret', fetch });
  const events = client.subscribeEvents('s', {
    onNotice() {
      throw new Error('a mistake of the caller’s');
    },
  });
  for await (const { request_id } of events) {
    expect(request_id).toBe('task-1');
    break;
  }
  expect(printed.mock.calls[0]?.[0]).toContain('onNotice failed');
  printed.mockRestore();
});
