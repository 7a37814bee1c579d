/** `match` and `task explain` against a real gateway, and what `task wait` says of a task without agent. */
import { beforeAll, expect, test } from 'vitest';
import { createClient } from '../../sdk/client.ts';
import { ADMIN_SECRET, SECRET } from '../harness/gateway-process.ts';
import { client, gateway, run, useGateway } from './gateway-fixture.ts';

useGateway();

beforeAll(async () => {
  const agent = { agent_id: '执行者', endpoint: 'pull', agent_tags: ['echo'], max_concurrent: 4 };
  await client.registerAgent({ ...agent, current_load: 0 });
});

test('"match" and "task explain" say which agents there are and what to do', async () => {
  const preview = await run('match ecHo');
  expect(preview).toMatchObject({ code: 0, stderr: '' });
  expect(preview.stdout).toMatch(
    /^Agents now, of \d+ registered \(ecHo: 0 of 0 free\):\nAGENT ID +VERDICT +STATE /,
  );
  expect(preview.stdout).toMatch(
    /\nNo agent has the tag `ecHo`; the nearest is `echo` \(\d+ agents?, \d+ free\)\./,
  );
  const submitted = await run('task submit x -t no-agent');
  const id = submitted.stdout.trim();
  const waited = await run(`task wait ${id}`);
  expect(waited.code).toBe(6);
  expect(waited.stderr).toMatch(/\(no agent available\)\.\n {2}No agent has the tag `no-agent`/);
  const explained = await run(`task explain ${id}`);
  expect(explained).toMatchObject({ code: 0, stderr: '' });
  expect(explained.stdout).toMatch(/^outcome +no_agent$/m);
  expect(explained.stdout).toMatch(/^\S+Z +0\.000 s +submitted +– *$/m);
  expect(explained.stdout).toMatch(/^\S+Z +\d\.\d{3} s +no_agent +– *$/m);
  const json = await run(`task explain ${id} -o json`);
  expect(JSON.parse(json.stdout)).toMatchObject({
    request_id: id,
    match: { live: false },
    outcome: 'no_agent',
  });
});

test('A client with the administrator’s secret alone gets, explains and matches, and submits nothing.', async () => {
  const reader = createClient({ baseUrl: gateway.baseUrl, adminAuth: ADMIN_SECRET });
  const writer = createClient({ baseUrl: gateway.baseUrl, auth: SECRET });
  const submission = { task_type: 'x', task_tags: ['no-agent'], payload: {} };
  const { request_id } = await writer.submitTask(submission);
  expect((await reader.getTask(request_id)).request_id).toBe(request_id);
  expect((await reader.explainTask(request_id)).request_id).toBe(request_id);
  expect((await reader.previewMatch({ task_tags: ['echo'] })).match.sharing.agents).toBe(1);
  await expect(reader.submitTask(submission)).rejects.toThrow(/auth is missing/);
});
