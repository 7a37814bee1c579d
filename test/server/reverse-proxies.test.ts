/**
 * The gateway behind nginx and Caddy, with the configurations of server/operating/ and no others: TLS, a
 * sub-path, events as they happen, and streams that continue. Debian's packages nginx and caddy.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { GRACE_SHARE } from '../../server/compose.ts';
import { settings } from '../../server/config/settings.ts';
import { ADMIN_SECRET, SECRET, startGateway } from '../harness/gateway-process.ts';
import { REVERSE_PROXIES, type ReverseProxy, startProxy } from './reverse-proxy.ts';

/** Starts a gateway, and the proxy before it; both end with the test. */
async function startBehind(proxy: ReverseProxy) {
  const gateway = await startGateway({ TRUSTED_PROXIES: '127.0.0.1' });
  onTestFinished(async () => void (await gateway.stop()));
  return await startProxy(proxy, [gateway.baseUrl]);
}

/** `b` is the one that decoded paths would lead to. */
const IDS = ['b', 'team/gpu-1', '/a', 'a/', 'x/../b', './b', 'team//b', '..b', '.hidden', 'a%2Fb', '会话/1'];

for (const proxy of REVERSE_PROXIES) {
  describe(`behind ${proxy.command}`, { tags: proxy.command }, () => {
    test('calls, events as they happen and streams that continue work under a sub-path, over TLS', async () => {
      const { call } = await startBehind(proxy);
      const submit = async (text: string): Promise<string> => {
        const task = {
          auth: SECRET,
          task_type: 'x',
          task_tags: ['none'],
          cli_session_id: '会话',
          payload: { text },
        };
        const { status, text: answer } = await call('/api/cli/tasks', { body: task });
        expect([status, answer]).toEqual([200, expect.stringContaining('request_id')]);
        return (JSON.parse(answer) as { request_id: string }).request_id;
      };
      const events = `/api/cli/events?cli_session_id=${encodeURIComponent('会话')}`;
      const first = await submit('一');
      // The stream stays open; what comes on it is passed on at once, or this never ends.
      const submitted: Promise<string>[] = [];
      const live = await call(events, {
        onText(text) {
          if (text.includes(first) && submitted.length === 0) submitted.push(submit('x'.repeat(200_000)));
          return (text.match(/^data:/gm)?.length ?? 0) === 2;
        },
      });
      const second = (await submitted[0]) ?? '';
      expect(live.text).toContain(second);
      const [id = ''] = live.text.match(/(?<=^id: ).+$/m) ?? [];
      const later = await call(events, {
        headers: { 'last-event-id': id },
        onText: (text) => text.includes('data:'),
      });
      expect(later.text).toContain(second);
      expect(later.text).not.toContain(first);
      const waited = await call(`/api/cli/tasks/${second}?wait=1`);
      expect(JSON.parse(waited.text)).toMatchObject({ status: 'failed', request_id: second });
      expect(
        (await call(`/api/cli/tasks/${second}`, { headers: { authorization: 'Bearer wrong' } })).status,
      ).toBe(401);
    });

    test('ids reach the gateway as they were sent, whatever a path would make of them', async () => {
      const { call } = await startBehind(proxy);
      const headers = { 'x-admin-auth': ADMIN_SECRET };
      const idOf = async (path: string): Promise<unknown> => {
        const { text } = await call(`/api/admin/agents/${path}`, { headers });
        const { agent_id, code } = JSON.parse(text) as Readonly<Record<string, unknown>>;
        return agent_id ?? code;
      };
      for (const agent_id of IDS) {
        const body = { auth: SECRET, agent_id, endpoint: 'http://127.0.0.1:9/', agent_tags: [] };
        expect((await call('/api/agent/register', { body })).status, agent_id).toBe(200);
      }
      for (const id of IDS) expect(await idOf(encodeURIComponent(id)), id).toBe(id);
      // What is sent otherwise than the SDK sends it is not taken for another agent either.
      for (const path of ['team/gpu-1', 'team//b', '%2Fa%2F..%2Fnone', 'x%2F..%2F..%2Fb'])
        expect(await idOf(path), path).toMatch(/^(agent|route)_not_found$/);
    });

    test('calls of agents are served under the name of the proxy if they have the secret', async () => {
      const { call } = await startBehind(proxy);
      const agent = { agent_id: 'a', endpoint: 'pull', agent_tags: ['x'] };
      const ask = async (operation: string, body: object) =>
        (await call(`/api/agent/${operation}`, { body, headers: { authorization: '' } })).status;
      expect(await ask('register', { ...agent, auth: SECRET })).toBe(200);
      expect(await ask('heartbeat', { agent_id: 'a', auth: SECRET })).toBe(200);
      expect(await ask('heartbeat', { agent_id: 'a' })).toBe(421);
      expect(await ask('unregister', { agent_id: 'a' })).toBe(421);
      expect(await ask('unregister', { agent_id: 'a', auth: SECRET })).toBe(200);
      expect((await call('/console/')).status).toBe(200);
    });

    test('no metrics are passed on, however their path is written', async () => {
      const { call } = await startBehind(proxy);
      const headers = { 'x-admin-auth': ADMIN_SECRET };
      expect((await call('/api/admin/overview', { headers })).status).toBe(200);
      for (const path of ['/metrics', '/metrics?a', '/%6detrics', '//metrics', '/x/../metrics', '/./metrics'])
        expect((await call(path, { headers })).status, path).toBe(404);
    });
  });
}

/** The seconds that a file names behind a word; each time that it names them, the same. */
function secondsOf(file: string, word: string): number {
  const text = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
  const found = [...text.matchAll(new RegExp(`(?<![\\w-])${word}\\D{1,12}(\\d+)`, 'g'))].map(
    ([, seconds]) => seconds,
  );
  expect(new Set(found).size, `${word} in ${file}`).toBe(1);
  return Number(found[0]);
}

/** Each file that starts a gateway, and the time that it gives a gateway to end. */
const STARTS = [
  ['compose.yaml', 'stop_grace_period'],
  ['compose.replicas.yaml', 'stop_grace_period'],
  ['server/operating/kubernetes.yaml', 'terminationGracePeriodSeconds'],
  ['server/operating/task-gateway.service', 'TimeoutStopSec'],
] as const;

test.each([
  ['server/operating/nginx.conf', 'keepalive_timeout'],
  ['server/operating/Caddyfile', 'keepalive'],
  ['compose.yaml', 'keepalive'],
  ['compose.replicas.yaml', 'keepalive'],
])(
  'A proxy by %s closes idle connections while a gateway that shuts down still serves them.',
  (file, word) => {
    expect(secondsOf(file, word)).toBeLessThan(Number(settings.SHUTDOWN_SECONDS.default) * GRACE_SHARE);
    for (const [other] of STARTS) expect(secondsOf(other, 'DRAIN_SECONDS')).toBeGreaterThan(0);
  },
);

test.each(STARTS)('A gateway by %s has time to drain and to shut down.', (file, word) => {
  const before = file.endsWith('kubernetes.yaml') ? secondsOf(file, 'sleep') : 0;
  const shutdown = Number(settings.SHUTDOWN_SECONDS.default) + 1;
  expect(secondsOf(file, word)).toBeGreaterThan(before + secondsOf(file, 'DRAIN_SECONDS') + shutdown);
});
