/** Loading the parts of the client that only runs and subscriptions need. */
import { expect, test } from 'vitest';
import { loadChunk } from '../../sdk/chunks.ts';
import { createClient, TaskGatewayError } from '../../sdk/index.ts';
import { createScriptedFetch } from './scripted-fetch.ts';

const never = (): Promise<string> => new Promise(() => undefined);

test('A part that cannot be loaded is an error that says what to do, and the next use loads it again.', async () => {
  const cause = new TypeError('Failed to fetch dynamically imported module');
  const loads = [() => Promise.reject(cause), () => Promise.resolve('part')];
  const load = () => (loads.shift() ?? never)();
  const error = await loadChunk(load, undefined).catch((one: unknown) => one);
  expect(error).toBeInstanceOf(TaskGatewayError);
  expect(error).toMatchObject({ code: 'chunk_not_loaded', cause });
  expect(await loadChunk(load, undefined)).toBe('part');
});

test('A signal ends the wait for a part, also one that fired before.', async () => {
  const stop = new AbortController();
  const waiting = loadChunk(never, stop.signal);
  stop.abort();
  await expect(waiting).rejects.toMatchObject({ code: 'aborted' });
  const loads: string[] = [];
  const load = () => {
    loads.push('load');
    return never();
  };
  await expect(loadChunk(load, AbortSignal.abort())).rejects.toMatchObject({ code: 'aborted' });
  expect(loads).toEqual([]);
});

test('A subscription that is closed, or left by its signal, while its code loads ends as it should.', async () => {
  const fetch = createScriptedFetch(() => {
    throw new Error('nothing may be sent');
  });
  const client = createClient({ baseUrl: 'http://gateway', auth: 'a-secret', fetch });
  const closed = client.subscribeEvents('s');
  const first = closed[Symbol.asyncIterator]().next();
  closed.close();
  expect(await first).toMatchObject({ done: true });
  const stop = new AbortController();
  const aborted = client.subscribeEvents('s', { signal: stop.signal })[Symbol.asyncIterator]().next();
  stop.abort();
  await expect(aborted).rejects.toMatchObject({ code: 'aborted' });
  expect(fetch.sent).toEqual([]);
});
