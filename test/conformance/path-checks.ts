/** The checks of the guide's section "Paths beside the API" (L1). */
import type { Check } from './check.ts';
import { isFields, requireEqual, requireThat } from './findings.ts';
import { type Kit, requireAdmin } from './kit.ts';
import * as scenario from './played-scenarios.ts';
import { type Answer, requireObject, requireStatus } from './subject.ts';

const DOCUMENTS = [
  '/openapi.json',
  '/openapi.yaml',
  '/openapi.3.2.json',
  '/openapi.admin.json',
  '/openapi.agent.json',
];
const FREE = [...DOCUMENTS, '/', '/livez', '/readyz'];

const get = (kit: Kit, path: string, headers: Readonly<Record<string, string>> = {}, method = 'GET') =>
  kit.subject.call(method, path, { headers });

/** Requires that a path serves the document of this OpenAPI version, which names this path or none. */
async function requireDocument(
  kit: Kit,
  path: string,
  version: string,
  named: string,
  absent?: string,
): Promise<void> {
  const document = requireObject(await get(kit, path));
  requireThat(String(document.openapi).startsWith(version), `${path} is OpenAPI ${document.openapi}.`);
  const paths = isFields(document.paths) ? Object.keys(document.paths) : [];
  requireThat(paths.includes(named), `${path} lacks ${named}.`);
  requireThat(absent === undefined || !paths.includes(absent), `${path} has ${absent}.`);
}

function requireHeaders(answer: Answer, expected: Readonly<Record<string, string | RegExp>>): void {
  for (const [name, value] of Object.entries(expected)) {
    const seen = answer.headers.get(name) ?? '';
    const isRight = typeof value === 'string' ? seen === value : value.test(seen);
    requireThat(isRight, `${answer.call} (${answer.status}): ${name} is "${seen}", and must be ${value}.`);
  }
}

export const PATH_CHECKS: Readonly<Record<string, Check>> = {
  'paths.openapi-json-openapi-yaml': async (kit) => {
    await requireDocument(kit, '/openapi.json', '3.1', '/api/cli/tasks', '/api/admin/tasks');
    const yaml = await get(kit, '/openapi.yaml');
    requireThat(
      yaml.status === 200 && /^openapi: ["']?3\.1/m.test(yaml.text),
      'It must be OpenAPI 3.1 in YAML.',
    );
    requireThat(yaml.text.includes('/api/agent/register:'), '/openapi.yaml lacks what agents call.');
  },
  'paths.openapi-3-2-json': async (kit) => {
    await requireDocument(kit, '/openapi.3.2.json', '3.2', '/api/cli/events');
    requireThat(
      (await get(kit, '/openapi.3.2.json')).text.includes('itemSchema'),
      'It lacks the schema of the events.',
    );
  },
  'paths.openapi-admin-json-openapi': async (kit) => {
    await requireDocument(kit, '/openapi.admin.json', '3.', '/api/admin/tasks', '/api/agent/claim');
    await requireDocument(kit, '/openapi.agent.json', '3.', '/');
  },
  'paths.200-name-task-gateway': async (kit) => {
    const { name, version, documents, health, metrics } = requireObject(await get(kit, '/'));
    requireEqual(
      { name, documents, health, metrics },
      { name: 'Task Gateway', documents: DOCUMENTS, health: ['/livez', '/readyz'], metrics: '/metrics' },
      'The index',
    );
    requireEqual(version, kit.subject.version(), '`version`, beside the header');
  },
  'paths.livez-200-status-ok': async (kit) =>
    requireEqual(requireObject(await get(kit, '/livez')), { status: 'ok' }, 'The response'),
  'paths.readyz-200-status-ok': async (kit) => {
    const answer = await get(kit, '/readyz');
    requireEqual(requireObject(answer).status, 'ok', '`status` of a gateway that serves');
  },
  'paths.they-need-no-secret': async (kit) => {
    for (const path of FREE) {
      const answer = await get(kit, path);
      requireStatus(answer, 200, 'without a secret');
      requireHeaders(answer, { 'access-control-allow-origin': '*' });
      requireHeaders(await get(kit, path, {}, 'HEAD'), { 'access-control-allow-origin': '*' });
      const asked = { origin: 'http://foreign.test', 'access-control-request-method': 'GET' };
      const options = await get(kit, path, asked, 'OPTIONS');
      requireHeaders(options, { 'access-control-allow-origin': '*' });
    }
  },
  'paths.the-documents-and-docs': async (kit) => {
    for (const path of [...DOCUMENTS, '/', '/docs']) {
      const tag = (await get(kit, path)).headers.get('etag');
      requireThat(tag !== null, `${path} has no \`ETag\`.`);
      for (const known of [tag, '*'])
        requireStatus(await get(kit, path, { 'if-none-match': known }), 304, `with If-None-Match: ${known}`);
      requireStatus(await get(kit, path, { 'if-none-match': '"other"' }), 200, 'with another tag');
    }
  },
  'paths.docs-shows-the-documents': async (kit) => {
    const page = await get(kit, '/docs');
    requireStatus(page, 200, 'of the page');
    requireHeaders(page, { 'content-type': /^text\/html/ });
  },
  'paths.metrics-serves-prometheus-for': async (kit) => {
    const admin = requireAdmin(kit);
    const secrets = [{ authorization: `Bearer ${admin}` }, { 'x-admin-auth': admin }];
    for (const headers of secrets) {
      const page = await get(kit, '/metrics', headers);
      requireStatus(page, 200, 'with the administrator’s secret');
      requireThat(/^# TYPE /m.test(page.text), 'It is no page of Prometheus.');
    }
    const { status } = await get(kit, '/metrics', { 'x-admin-auth': kit.name('secret') });
    const isOpen = (await get(kit, '/metrics')).status === 200;
    requireThat(isOpen || status === 401, `With a wrong secret: ${status}; must be 401.`);
  },
  'paths.every-path-that-serves': async (kit) => {
    const { fresh } = await kit.see(scenario.unmatched);
    const secret = { authorization: `Bearer ${kit.auth}` };
    for (const path of [...FREE, '/docs', `/api/cli/tasks/${fresh.request_id}`]) {
      const [page, head] = [await get(kit, path, secret), await get(kit, path, secret, 'HEAD')];
      requireStatus(head, page.status, 'of a path that serves GET');
      requireEqual(head.text, '', 'The body of HEAD');
      for (const name of ['content-type', 'etag', 'cache-control'])
        requireEqual(head.headers.get(name), page.headers.get(name), `\`${name}\` of HEAD`);
    }
    for (const path of [...FREE, '/api/cli/tasks', '/api/agent/register', '/api/admin/agents']) {
      const options = await get(kit, path, {}, 'OPTIONS');
      requireStatus(options, 204, 'without a secret');
      requireThat(
        /\b(GET|POST)\b/.test(options.headers.get('allow') ?? ''),
        `\`Allow\` of ${path} lacks its methods.`,
      );
    }
  },
  'paths.every-response-has-task': async (kit) => {
    const { submitted, stream } = await kit.see(scenario.unmatched);
    const always = {
      'task-gateway-version': /^\d+\.\d+\.\d+/,
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    };
    const refused = await get(kit, '/api/cli/tasks/x');
    const admin = await get(kit, '/api/admin/agents');
    const wrong = await get(kit, '/api/cli/tasks', {}, 'DELETE');
    const missing = await get(kit, `/${kit.name('path')}`);
    for (const answer of [submitted, refused, admin, wrong, missing])
      requireHeaders(answer, { ...always, 'cache-control': 'no-store' });
    requireHeaders({ ...submitted, call: 'GET /api/cli/events', headers: stream.headers }, always);
    requireEqual(
      stream.headers.get('cache-control'),
      'no-store, no-transform',
      '`Cache-Control` of a stream',
    );
    requireHeaders(await get(kit, '/openapi.json'), { ...always, 'cache-control': 'no-cache' });
    requireHeaders(refused, { 'www-authenticate': /^Bearer/ });
    requireHeaders(admin, { 'www-authenticate': /X-Admin-Auth/ });
    requireHeaders(wrong, { allow: /\bPOST\b/ });
  },
};
