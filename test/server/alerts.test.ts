/**
 * The alerts and the configuration for Prometheus, by Debian's package `prometheus`: promtool checks and
 * tests them, and a real Prometheus scrapes a real gateway until an alert fires.
 */
import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { METRICS } from '../../server/observability/metrics-table.ts';
import { submit } from '../e2e/plain-calls.ts';
import { findFreePort } from '../harness/free-port.ts';
import { ADMIN_SECRET, startGateway } from '../harness/gateway-process.ts';

const OPERATING = new URL('../../server/operating/', import.meta.url).pathname;
const ALERTS = readFileSync(join(OPERATING, 'alerts.yml'), 'utf8');
const run = promisify(execFile);

test('each of the ten alerts says what to do and where more stands, and reads metrics that exist', () => {
  const alerts = ALERTS.split(/^ {6}- alert: /m).slice(1);
  expect(alerts).toHaveLength(10);
  const page = readFileSync(new URL('../../server/OPERATING.md', import.meta.url), 'utf8');
  for (const alert of alerts) {
    expect(alert).toMatch(/^ {10}summary: ".+\."$/m);
    expect(alert).toMatch(/^ {10}action: ".{40,}\."$/m);
    const [, section = ''] = /^ {10}runbook: "server\/OPERATING\.md#([\w-]+)"$/m.exec(alert) ?? [];
    expect(page).toContain(`](#${section})`);
    for (const [name] of alert.matchAll(/\btask_gateway_\w+/g)) expect(Object.keys(METRICS)).toContain(name);
  }
});

describe('with Debian’s prometheus', { tags: 'prometheus' }, () => {
  test('promtool finds nothing wrong, and each alert fires at what it should', async () => {
    const folder = makeFolder();
    // The configuration names a file of the machine that it is for.
    writeFileSync(join(folder, 'secret'), ADMIN_SECRET);
    writeFileSync(join(folder, 'alerts.yml'), ALERTS);
    const config = join(folder, 'prometheus.yml');
    writeFileSync(config, fill({ '/etc/prometheus/task_gateway_admin_auth': join(folder, 'secret') }));
    expect((await run('promtool', ['check', 'config', config])).stdout).toMatch(/SUCCESS: 10 rules found/);
    const rules = new URL('alert-rules.yml', import.meta.url).pathname;
    expect((await run('promtool', ['test', 'rules', rules])).stdout).toContain('SUCCESS');
  });

  test('a Prometheus scrapes a gateway, with the administrator’s secret, and an alert fires', async () => {
    const gateway = await startGateway();
    onTestFinished(() => void gateway.stop());
    const folder = makeFolder();
    writeFileSync(join(folder, 'secret'), ADMIN_SECRET);
    // The times of the alerts, a hundred times shorter.
    writeFileSync(join(folder, 'alerts.yml'), ALERTS.replaceAll(/^( +for:) .*$/gm, '$1 1s'));
    const filled = fill({
      '/etc/prometheus/task_gateway_admin_auth': join(folder, 'secret'),
      '127.0.0.1:8080': gateway.baseUrl.replace('http://', ''),
      'interval: 15s': 'interval: 200ms',
    });
    writeFileSync(join(folder, 'prometheus.yml'), filled);
    await submit(gateway.baseUrl, { task_tags: ['gpu2'], queue_timeout: 60 });
    const url = await startPrometheus(folder);
    const ask = async (path: string) => (await (await fetch(`${url}${path}`)).json()) as { data: Answer };
    type Answer = { alerts?: readonly Alert[]; result?: readonly { value: readonly [number, string] }[] };
    type Alert = { state: string; labels: { alertname: string }; annotations: { summary: string } };
    await expect
      .poll(
        async () =>
          (await ask('/api/v1/alerts')).data.alerts?.map(({ state, labels }) => [state, labels.alertname]),
        {
          timeout: 60_000,
          interval: 100,
        },
      )
      .toEqual([['firing', 'TaskGatewayTagWithoutAgent']]);
    const { data } = await ask('/api/v1/alerts');
    expect(data.alerts?.[0]?.annotations.summary).toBe(
      'Tasks wait for 1 tags that no agent has which is online.',
    );
    const read = async (name: string): Promise<string | undefined> =>
      (await ask(`/api/v1/query?query=${encodeURIComponent(name)}`)).data.result?.[0]?.value[1];
    expect(await read('up')).toBe('1');
    expect(await read('task_gateway_tasks_submitted_total')).toBe('1');
    expect(await read('task_gateway_waiting_tasks')).toBe('1');
    // Each query of the dashboard has an answer with a series: none names what does not exist.
    const answered = async (query: string): Promise<number | undefined> =>
      (await ask(`/api/v1/query?query=${encodeURIComponent(query)}`)).data.result?.length;
    await fetch(`${gateway.baseUrl}/api/admin/overview`, { headers: { 'X-Admin-Auth': 'wrong' } });
    for (const query of listQueries()) {
      const filledIn = query.replaceAll('$job', '.*').replaceAll('$__rate_interval', '5s');
      await expect.poll(() => answered(filledIn), { message: query, timeout: 60_000 }).toBeGreaterThan(0);
    }
    // What its own linter says of the names and types of what was scraped.
    const text = await (
      await fetch(`${gateway.baseUrl}/metrics`, { headers: { 'X-Admin-Auth': ADMIN_SECRET } })
    ).text();
    const checked = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' });
    expect([checked.status, checked.stdout + checked.stderr].join('').match(/task_gateway_.*/g)).toBeNull();
  });
});

/** The queries of the dashboard for Grafana. */
function listQueries(): readonly string[] {
  const { panels } = JSON.parse(readFileSync(join(OPERATING, 'grafana.json'), 'utf8')) as Dashboard;
  return panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
}
type Dashboard = { readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[] };

test('each query of the dashboard reads metrics that exist', () => {
  const queries = listQueries();
  expect(queries.length).toBeGreaterThan(15);
  for (const query of queries) {
    const names = [...query.matchAll(/\btask_gateway_\w+?(?=_(?:bucket|count)\b|\{)/g)].map(([name]) => name);
    expect(names.length, query).toBeGreaterThan(0);
    for (const name of names) expect(Object.keys(METRICS)).toContain(name);
  }
});

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'task-gateway-alerts-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The configuration, with what differs on each machine; every text must be there. */
function fill(texts: Readonly<Record<string, string>>): string {
  let filled = readFileSync(join(OPERATING, 'prometheus.yml'), 'utf8');
  for (const [text, by] of Object.entries(texts)) {
    expect(filled).toContain(text);
    filled = filled.replaceAll(text, by);
  }
  return filled;
}

/** Starts it with the configuration in the folder; resolves with its URL once it is ready. */
async function startPrometheus(folder: string): Promise<string> {
  const port = await findFreePort();
  const child = spawn('prometheus', [
    `--config.file=${folder}/prometheus.yml`,
    `--storage.tsdb.path=${folder}/data`,
    `--web.listen-address=127.0.0.1:${port}`,
  ]);
  let printed = '';
  child.stderr.on('data', (text) => {
    printed += text;
  });
  onTestFinished(async () => {
    if (child.exitCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    await exited;
  });
  const isReady = (): Promise<boolean> =>
    fetch(`http://127.0.0.1:${port}/-/ready`).then(
      ({ status }) => status === 200,
      () => false,
    );
  await expect.poll(isReady, { timeout: 60_000, interval: 50, message: printed }).toBe(true);
  return `http://127.0.0.1:${port}`;
}
