/** The console as it is served: its page at each address, its files, and what a browser may do with them. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../harness/http-server.ts';
import { createFakeGateway } from './fake-gateway.ts';

const FOLDER = join(import.meta.dirname, '../../generated/console');
const FILES = readdirSync(FOLDER).filter((name) => name !== 'index.html');
const HTML = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(createFakeGateway(), {
    settings: { corsOrigins: ['https://page.example'] },
  });
});
afterAll(() => server.stop());

const get = (path: string, headers: Record<string, string> = HTML): Promise<Response> =>
  fetch(server.url + path, { headers, redirect: 'manual' });

/** The files that a file loads at once, itself included. */
function listLoaded(name: string, loaded = new Set<string>()): ReadonlySet<string> {
  if (loaded.has(name)) return loaded;
  loaded.add(name);
  if (name.endsWith('.js')) {
    const text = readFileSync(join(FOLDER, name), 'utf8');
    for (const [, other = ''] of text.matchAll(/(?:from|import)\s*["'`]\.\/([\w-]+\.js)["'`]/g)) {
      listLoaded(other, loaded);
    }
  }
  return loaded;
}

describe('the size', () => {
  const page = readFileSync(join(FOLDER, 'index.html'), 'utf8');
  const first = [...page.matchAll(/="\.\/([\w-]+\.\w+)"/g)].map(([, name = '']) => name);
  const pages = FILES.filter((name) =>
    /^(overview|tasks|task|agents|agent|events|submit)-.*\.js$/.test(name),
  );
  const pictures = FILES.filter((name) => name.endsWith('.svg'));

  test('is known for each of the seven pages', () => {
    expect(pages.length).toBe(7);
    expect(first.filter((name) => /\.(js|css)$/.test(name)).length).toBe(2);
  });

  test.each(pages)('of all that %s needs is at most 60 kB, gzipped', (name) => {
    const names = new Set([...first, ...pictures, 'index.html'].flatMap((one) => [...listLoaded(one)]));
    for (const one of listLoaded(name)) names.add(one);
    const bytes = [...names].map((one) => gzipSync(readFileSync(join(FOLDER, one)), { level: 9 }).length);
    expect(bytes.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(60_000);
  });
});

describe.each(FILES)('%s', (file) => {
  test('is served as it was generated, and kept for good if its name says what is in it', async () => {
    const response = await get(`/console/${file}`);
    expect(await response.text()).toBe(readFileSync(join(FOLDER, file), 'utf8'));
    const isHashed = file !== 'LICENSES.md';
    expect(response.headers.get('cache-control')).toBe(
      isHashed ? 'public, max-age=31536000, immutable' : 'no-cache',
    );
    const types: Readonly<Record<string, string>> = {
      js: 'text/javascript; charset=utf-8',
      css: 'text/css; charset=utf-8',
      svg: 'image/svg+xml',
      md: 'text/markdown; charset=utf-8',
    };
    expect(response.headers.get('content-type')).toBe(types[file.split('.').at(-1) ?? '']);
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
  });
});

describe.each(['', 'tasks', 'tasks/0198-x', 'agents', 'agents/a%2Fb', 'events', 'submit'])(
  '/console/%s',
  (view) => {
    test('is the page, which loads what is of its origin, and nothing inline or evaluated', async () => {
      const response = await get(`/console/${view}`);
      expect(response.status).toBe(200);
      const { headers } = response;
      const policy = headers.get('content-security-policy') ?? '';
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toMatch(/unsafe|https?:|\*|data:/);
      expect([headers.get('cache-control'), headers.get('cross-origin-opener-policy')]).toEqual([
        'no-cache',
        'same-origin',
      ]);
      const text = await response.text();
      expect(text).not.toMatch(/<style|style=|<script(?![^>]* src=)/);
      for (const [, address] of text.matchAll(/(?:src|href)="([^"]+)"/g)) {
        // Wherever a proxy puts it.
        const url = new URL(address ?? '', `https://host.example/below/console/${view}`);
        expect(url.pathname).toMatch(/^\/below\/console\/[\w-]+\.(js|css|svg)$/);
        expect(FILES).toContain(url.pathname.split('/').at(-1));
      }
    });

    test('is not sent again to a browser that has it', async () => {
      const { headers } = await get(`/console/${view}`);
      const again = await get(`/console/${view}`, { 'if-none-match': headers.get('etag') ?? '' });
      expect([again.status, await again.text()]).toEqual([304, '']);
      expect((await get(`/console/${view}`, { 'if-none-match': '*' })).status).toBe(304);
    });
  },
);

test('A person who mistyped an address gets the page, a program a problem, and a missing file neither.', async () => {
  const person = await get('/console/no/such/page');
  expect([person.status, person.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
  expect(await person.text()).toContain('src="../../parts-');
  for (const [path, accept] of [
    ['/console/no/such/page', 'application/json'],
    ['/console/parts-00000000.js', '*/*'],
    ['/console/parts-00000000.js', HTML.accept],
    ['/console/%2e%2e%2fpackage.json', HTML.accept],
  ] as const) {
    const response = await get(path, { accept });
    expect([path, response.status, response.headers.get('content-type')]).toEqual([
      ...[path, 404, 'application/problem+json'],
    ]);
  }
});

test('The root leads a browser to the console, below any path, and a program to the index.', async () => {
  const browser = await get('/');
  expect([browser.status, browser.headers.get('location'), browser.headers.get('vary')]).toEqual([
    ...[302, 'console/', 'Accept'],
  ]);
  for (const accept of ['*/*', 'application/json', 'application/json, text/html']) {
    const response = await get('/', { accept });
    expect([response.status, response.headers.get('vary')]).toEqual([200, 'Accept']);
    expect(await response.json()).toMatchObject({ name: 'Task Gateway' });
  }
  const folder = await get('/console');
  expect([folder.status, folder.headers.get('location')]).toEqual([308, 'console/']);
});

test('The page is read only, and no other origin may read it.', async () => {
  const post = await fetch(`${server.url}/console/`, { method: 'POST' });
  expect([post.status, post.headers.get('allow')]).toEqual([405, 'HEAD, GET, OPTIONS']);
  const foreign = await get('/console/', { ...HTML, origin: 'https://anywhere.example' });
  expect(foreign.headers.get('access-control-allow-origin')).toBeNull();
});

test('Switched off, none of it is there, and the root is the index to all.', async () => {
  const off = await startTestServer(createFakeGateway(), { settings: { console: 'off' } });
  try {
    for (const path of ['/console', '/console/', '/console/tasks', `/console/${FILES[0]}`]) {
      expect((await fetch(off.url + path, { headers: HTML, redirect: 'manual' })).status, path).toBe(404);
    }
    const root = await fetch(off.url, { headers: HTML, redirect: 'manual' });
    expect([root.status, root.headers.get('content-type')]).toEqual([200, 'application/json']);
  } finally {
    await off.stop();
  }
});
