/**
 * Reads that a program repeats: with the `ETag` of the response before, nothing that has not changed is
 * sent.
 */
import { expect, test } from 'vitest';
import { TASK_PAGE } from '../harness/admin-values.ts';
import { ADMIN, connect } from './calls-fixture.ts';
import { json } from './scripted-fetch.ts';

const unchanged = (): Response => new Response(null, { status: 304, headers: { etag: 'W/"1"' } });

test('A read that names the response before resolves to null if nothing has changed.', async () => {
  const { client, sent } = connect([json(TASK_PAGE), unchanged()]);
  let etag: string | null = null;
  const onResponse = ({ headers }: Response): void => {
    etag = headers.get('etag');
  };
  expect(await client.listTasks({}, { onResponse })).toEqual(TASK_PAGE);
  expect(sent[0]?.headers.get('if-none-match')).toBeNull();
  expect(await client.listTasks({}, { onResponse, ifNoneMatch: 'W/"0"' })).toBeNull();
  expect(etag).toBe('W/"1"');
  expect(sent[1]?.headers.get('if-none-match')).toBe('W/"0"');
  expect(sent[1]?.headers.get('x-admin-auth')).toBe(ADMIN);
});

test('A 304 is sent once, and is no failure in the log.', async () => {
  const lines: string[] = [];
  const log = (message: string): void => void lines.push(message);
  const logger = { debug: log, info: log, warn: log, error: log };
  const { client, sent } = connect([unchanged()], { logLevel: 'warn', logger });
  expect(await client.getAgent('a', { ifNoneMatch: '"1"' })).toBeNull();
  expect(sent).toHaveLength(1);
  expect(lines).toEqual([]);
});

test('A 304 that was not asked for is no response of a gateway.', async () => {
  const { client } = connect([unchanged(), unchanged()]);
  await expect(client.getOverview()).rejects.toMatchObject({ code: 'not_a_gateway' });
  await expect(client.getTask('t')).rejects.toMatchObject({ code: 'not_a_gateway' });
});

test('A read has options, a query, both or neither.', async () => {
  const stop = new AbortController();
  stop.abort();
  const { client, sent } = connect([json(TASK_PAGE)]);
  expect(await client.listTasks()).toEqual(TASK_PAGE);
  await expect(client.getOverview({}, { signal: stop.signal })).rejects.toMatchObject({ code: 'aborted' });
  await expect(client.listAgents({}, { signal: stop.signal })).rejects.toMatchObject({ code: 'aborted' });
  await expect(client.getAgent('..')).rejects.toMatchObject({ code: 'invalid_option' });
  expect(sent).toHaveLength(1);
});
