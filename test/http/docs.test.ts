/** The page at `/docs` and the files it loads, as they are served. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../harness/http-server.ts';
import { createFakeGateway } from './fake-gateway.ts';

const FOLDER = join(import.meta.dirname, '../../generated/docs');
const FILES = readdirSync(FOLDER);

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(createFakeGateway(), {
    settings: { corsOrigins: ['https://page.example'] },
  });
});
afterAll(() => server.stop());

const pathOf = (file: string): string => (file === 'index.html' ? '/docs' : `/docs/${file}`);

describe('each file of the page', () => {
  test.each(FILES)('%s is served as it was generated', async (file) => {
    const response = await fetch(server.url + pathOf(file));
    expect(response.status).toBe(200);
    expect(await response.text()).toBe(readFileSync(join(FOLDER, file), 'utf8'));
    const types: Readonly<Record<string, string>> = { html: 'html', css: 'css', js: 'javascript' };
    const type = types[file.split('.').at(-1) ?? ''] ?? 'plain';
    expect(response.headers.get('content-type')).toBe(`text/${type}; charset=utf-8`);
  });

  test.each(FILES)('%s may load what is of its origin, and nothing inline or evaluated', async (file) => {
    const { headers } = await fetch(server.url + pathOf(file), { method: 'HEAD' });
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
  });
});

test('The page is read only, and is no document that every web page may read.', async () => {
  const post = await fetch(`${server.url}/docs`, { method: 'POST' });
  expect([post.status, post.headers.get('allow')]).toEqual([405, 'HEAD, GET, OPTIONS']);
  const foreign = await fetch(`${server.url}/docs`, { headers: { origin: 'https://anywhere.example' } });
  expect(foreign.headers.get('access-control-allow-origin')).toBeNull();
});

test('An address with a slash at its end leads to the page.', async () => {
  const { status, headers } = await fetch(`${server.url}/docs/`, { redirect: 'manual' });
  expect([status, headers.get('location')]).toEqual([308, '../docs']);
});

test('Nothing else is below the page.', async () => {
  for (const path of ['/docs/none.js', '/docs/../package.json', '/docs/%2e%2e%2fpackage.json', '/Docs']) {
    expect((await fetch(server.url + path)).status, path).toBe(404);
  }
});

test('It asks for no other host.', () => {
  for (const file of ['index.html', 'page.js', 'page.css']) {
    expect(readFileSync(join(FOLDER, file), 'utf8'), file).not.toMatch(/https?:\/\//);
  }
  for (const file of FILES) {
    expect(readFileSync(join(FOLDER, file), 'utf8'), file).not.toMatch(/sourceMappingURL=(?!data:)\S/);
  }
});
