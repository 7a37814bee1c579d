/**
 * A real nginx or Caddy before gateways, with the configuration of server/operating/ and no other, over TLS.
 * Debian's packages nginx and caddy.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, vi } from 'vitest';
import { findFreePort } from '../harness/free-port.ts';
import { SECRET } from '../harness/gateway-process.ts';
import { makeCertificate } from '../push/certificate.ts';

const OPERATING = new URL('../../server/operating/', import.meta.url).pathname;
/** Where the configurations put the gateway. */
const SUB_PATH = '/task-gateway';
/** Not a name of the gateway's own machine. */
const HOST = 'gateway.example';
const DAY_MS = 86_400_000;
const WAIT = { timeout: 60_000, interval: 20 };

export type ReverseProxy = {
  readonly command: 'nginx' | 'caddy';
  /** Writes the configuration into the folder; returns the arguments that check it and those that run it. */
  configure(given: Given): { readonly check: readonly string[]; readonly run: readonly string[] };
};
type Given = {
  readonly folder: string;
  readonly port: number;
  /** Where the gateways listen; with several, what the file has for several is taken in. */
  readonly gateways: readonly string[];
  readonly cert: string;
  readonly key: string;
};

/** Replaces what differs on each machine; every text must be there. */
function fill(file: string, texts: Readonly<Record<string, string>>): string {
  let filled = readFileSync(join(OPERATING, file), 'utf8');
  for (const [text, by] of Object.entries(texts)) {
    expect(filled, file).toContain(text);
    filled = filled.replaceAll(text, by);
  }
  return filled;
}

export const REVERSE_PROXIES: readonly ReverseProxy[] = [
  {
    command: 'nginx',
    configure({ folder, port, gateways: [first, ...others], cert, key }) {
      const site = fill('nginx.conf', {
        'server 127.0.0.1:8080 ': `server ${first} `,
        '# server 127.0.0.1:8081 max_fails=0;': others.map((at) => `server ${at} max_fails=0;`).join(' '),
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
    configure({ folder, port, gateways, cert, key }) {
      let site = fill('Caddyfile', {
        'gateway.example {': `https://${HOST}:${port} {\n\ttls ${cert} ${key}`,
        'reverse_proxy 127.0.0.1:8080 {': `reverse_proxy ${gateways.join(' ')} {`,
      });
      if (gateways.length > 1) site = site.replaceAll(/# (?=health_)/g, '');
      const file = join(folder, 'Caddyfile');
      writeFileSync(file, `{\n\tadmin off\n\tauto_https disable_redirects\n}\n${site}`);
      const args = ['--config', file, '--adapter', 'caddyfile'];
      return { check: ['validate', ...args], run: ['run', ...args] };
    },
  },
];

/** Starts the proxy before the gateways at these addresses; it ends with the test. */
export async function startProxy(proxy: ReverseProxy, baseUrls: readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), `task-gateway-${proxy.command}-`));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const nowMs = Date.now();
  const made = makeCertificate(HOST, nowMs - DAY_MS, nowMs + DAY_MS);
  const [cert, key] = [join(folder, 'tls.crt'), join(folder, 'tls.key')];
  writeFileSync(cert, made.cert);
  writeFileSync(key, made.key, { mode: 0o600 });
  const port = await findFreePort();
  const gateways = baseUrls.map((url) => new URL(url).host);
  const { check, run } = proxy.configure({ folder, port, gateways, cert, key });
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

export type CallOptions = {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly onText?: (text: string) => boolean;
  /** The connections to the proxy; by default one for each call. */
  readonly agent?: Agent;
  readonly signal?: AbortSignal;
};

/** A call over TLS; `onText` gets the body as it comes, and returns whether that is enough. */
function callThrough(port: number, ca: Buffer, path: string, options: CallOptions) {
  const { body, headers, onText, agent, signal } = options;
  return new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
    const sent = request(
      {
        host: '127.0.0.1',
        servername: HOST,
        port,
        ca,
        agent,
        signal,
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
