/**
 * The gateway behind nginx and Caddy, with the configurations of server/operating/ and no others: TLS, a
 * sub-path, events as they happen, and streams that continue. Debian's packages nginx and caddy.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { findFreePort } from '../harness/free-port.ts';
import { ADMIN_SECRET, SECRET, startGateway } from '../harness/gateway-process.ts';
import { makeCertificate } from '../push/certificate.ts';

const OPERATING = new URL('../../server/operating/', import.meta.url).pathname;
const SUB_PATH = '/task-gateway';
const HOST = 'localhost';
const DAY_MS = 86_400_000;
const WAIT = { timeout: 60_000, interval: 20 };

type Proxy = {
  readonly command: 'nginx' | 'caddy';
  /** Writes the configuration into the folder; returns the arguments that check it and those that run it. */
  configure(given: Given): { readonly check: readonly string[]; readonly run: readonly string[] };
};
type Given = { folder: string; port: number; gatewayPort: string; cert: string; key: string };

/** Replaces what differs on each machine; every text must be there. */
function fill(file: string, texts: Readonly<Record<string, string>>): string {
  let filled = readFileSync(join(OPERATING, file), 'utf8');
  for (const [text, by] of Object.entries(texts)) {
    expect(filled, file).toContain(text);
    filled = filled.replaceAll(text, by);
  }
  return filled;
}

const PROXIES: readonly Proxy[] = [
  {
    command: 'nginx',
    configure({ folder, port, gatewayPort, cert, key }) {
      const site = fill('nginx.conf', {
        'server 127.0.0.1:8080;': `server 127.0.0.1:${gatewayPort};`,
        'listen 443 ssl;': `listen 127.0.0.1:${port} ssl;`,
        '/etc/task-gateway/tls.crt': cert,
        '/etc/task-gateway/tls.key': key,
      });
      writeFileSync(join(folder, 'site.conf'), site);
      const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
        (one) => `${one}_temp_path ${folder}/${one};`,
      );
      writeFileSync(
        join(folder, 'nginx.conf'),
        `daemon off; pid ${folder}/nginx.pid; error_log ${folder}/error.log; events {}
         http { access_log off; ${paths.join(' ')} include ${folder}/site.conf; }`,
      );
      const common = ['-p', folder, '-e', join(folder, 'error.log'), '-c', join(folder, 'nginx.conf')];
      return { check: [...common, '-t'], run: common };
    },
  },
  {
    command: 'caddy',
    configure({ folder, port, gatewayPort, cert, key }) {
      const site = fill('Caddyfile', {
        'gateway.example {': `https://${HOST}:${port} {\n\ttls ${cert} ${key}`,
        '127.0.0.1:8080': `127.0.0.1:${gatewayPort}`,
      });
      const file = join(folder, 'Caddyfile');
      writeFileSync(file, `{\n\tadmin off\n\tauto_https disable_redirects\n}\n${site}`);
      const args = ['--config', file, '--adapter', 'caddyfile'];
      return { check: ['validate', ...args], run: ['run', ...args] };
    },
  },
];

/** Starts a gateway, and the proxy before it; both end with the test. */
async function startBehind(proxy: Proxy) {
  const folder = mkdtempSync(join(tmpdir(), `task-gateway-${proxy.command}-`));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const gateway = await startGateway({ TRUSTED_PROXIES: '127.0.0.1' });
  onTestFinished(async () => void (await gateway.stop()));
  const nowMs = Date.now();
  const made = makeCertificate(HOST, nowMs - DAY_MS, nowMs + DAY_MS);
  const [cert, key] = [join(folder, 'tls.crt'), join(folder, 'tls.key')];
  writeFileSync(cert, made.cert);
  writeFileSync(key, made.key, { mode: 0o600 });
  const port = await findFreePort();
  const gatewayPort = new URL(gateway.baseUrl).port;
  const { check, run } = proxy.configure({ folder, port, gatewayPort, cert, key });
  const env = { PATH: process.env.PATH ?? '', HOME: folder };
  mkdirSync(join(folder, 'logs'), { recursive: true });
  execFileSync(proxy.command, check, { env, stdio: 'pipe' });
  const child = spawn(proxy.command, run, { env, stdio: 'pipe' });
  let printed = '';
  child.stderr.on('data', (text) => (printed += text));
  onTestFinished(async () => {
    child.kill('SIGTERM');
    if (child.exitCode === null) await once(child, 'exit');
  });
  const ca = readFileSync(cert);
  const call = (path: string, options: CallOptions = {}) => callThrough(port, ca, path, options);
  await vi.waitFor(async () => {
    const { status } = await call('/livez').catch((error: Error) => ({
      status: `${error.message} ${printed}`,
    }));
    expect(status).toBe(200);
  }, WAIT);
  return { call };
}

type CallOptions = {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly onText?: (text: string) => boolean;
};

/** A call over TLS; `onText` gets the body as it comes, and returns whether that is enough. */
function callThrough(port: number, ca: Buffer, path: string, { body, headers, onText }: CallOptions) {
  return new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
    const sent = request(
      {
        host: '127.0.0.1',
        servername: HOST,
        port,
        ca,
        path: SUB_PATH + path,
        method: body === undefined ? 'GET' : 'POST',
        headers: { host: `${HOST}:${port}`, authorization: `Bearer ${SECRET}`, ...headers },
      },
      (response) => {
        let text = '';
        const end = () => resolve({ status: response.statusCode, text });
        response.setEncoding('utf8').on('data', (part: string) => {
          text += part;
          if (!onText?.(text)) return;
          end();
          sent.destroy();
        });
        response.on('end', end).on('error', reject);
      },
    );
    sent.on('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

for (const proxy of PROXIES) {
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

    test('no metrics are passed on', async () => {
      const { call } = await startBehind(proxy);
      const headers = { 'x-admin-auth': ADMIN_SECRET };
      expect((await call('/api/admin/overview', { headers })).status).toBe(200);
      expect((await call('/metrics', { headers })).status).toBe(404);
    });
  });
}
