/**
 * A gateway that cannot load what it loads when it is first needed (a package is missing, or there is no
 * descriptor left to open it): it says so in its log, fails the calls that need it, and serves all others.
 */
import { expect, onTestFinished, test } from 'vitest';
import { get, post, submit } from '../e2e/plain-calls.ts';
import { ADMIN_SECRET, SECRET, startGateway } from '../harness/gateway-process.ts';

/** What makes Node find no such packages. */
function hide(packages: readonly string[]): string {
  const hook = `
    import { registerHooks } from 'node:module';
    registerHooks({
      resolve(name, context, next) {
        if (!${JSON.stringify(packages)}.includes(name)) return next(name, context);
        throw Object.assign(new Error('hidden: ' + name), { code: 'ERR_MODULE_NOT_FOUND' });
      },
    });`;
  return `--import data:text/javascript,${encodeURIComponent(hook)}`;
}

test('a gateway without the packages that it loads later lives on, and says what is missing', async () => {
  const packages = ['undici', '@prometheus-io/client'];
  const gateway = await startGateway({ NODE_OPTIONS: hide(packages) });
  onTestFinished(() => void gateway.stop());
  const { baseUrl: url } = gateway;
  await expect.poll(() => gateway.output()).toContain('no task can be pushed: undici cannot be loaded');

  const agent = { agent_id: 'a', endpoint: 'http://127.0.0.1:9/', agent_tags: ['cpu'] };
  await post(url, '/api/agent/register', { auth: SECRET, ...agent });
  const id = await submit(url, { task_tags: ['cpu'] });
  const explain = () => get(url, `/api/cli/tasks/${id}/explain`);
  await expect
    .poll(async () => JSON.stringify(await explain()))
    .toContain('the gateway cannot load its HTTP client; its log says why');

  const metrics = await fetch(`${url}/metrics`, { headers: { 'x-admin-auth': ADMIN_SECRET } });
  expect(metrics.status).toBe(500);
  expect((await fetch(`${url}/livez`)).status).toBe(200);
  expect(await gateway.stop()).toBe(0);
  const lines = gateway.output().trim().split('\n');
  for (const name of packages)
    expect(
      lines.filter((line) => line.includes(`hidden: ${name}`)),
      name,
    ).toHaveLength(1);
});
