/**
 * More of the requests whose responses are recorded: for pages, of pages, under foreign names, and bytes that
 * are no request.
 */
import { buildCall, OPERATIONS } from '../contract/usual-calls.ts';
import {
  ADMIN,
  AUTH,
  ORIGIN,
  type RecordedRequest,
  read,
  record,
  secrets,
  submit,
  usual,
  writeCall,
  writeRequest,
} from './recorded-requests.ts';

const PAGES = [
  '/',
  '/livez',
  '/readyz',
  '/metrics',
  '/openapi.json',
  '/openapi.yaml',
  '/docs',
  '/docs/',
  '/docs/page.js',
  '/docs/swagger-ui-bundle.js',
  '/console',
  '/console/',
  '/console/tasks',
  '/console/nowhere',
  '/console/nowhere.js',
];

/** Pages, probes and documents, and paths and methods that are not served. */
export function listPageRequests(): readonly RecordedRequest[] {
  const html = { Accept: 'text/html' };
  return [
    ...['GET', 'HEAD', 'OPTIONS', 'POST'].flatMap((method) =>
      PAGES.map((path) => record(`${method} ${path}`, writeRequest(method, path))),
    ),
    record('GET /metrics of the administrator', writeRequest('GET', '/metrics', { headers: ADMIN })),
    record('GET / of a browser', writeRequest('GET', '/', { headers: html })),
    record('GET /console/nowhere of a browser', writeRequest('GET', '/console/nowhere', { headers: html })),
    ...['/', '/openapi.json', '/docs'].map((path) =>
      record(
        `GET ${path} if it has changed`,
        writeRequest('GET', path, { headers: { 'If-None-Match': '*' } }),
      ),
    ),
    record(
      'GET /openapi.json before the connection closes',
      writeRequest('GET', '/openapi.json', { headers: { Connection: 'close' } }),
    ),
    record(
      'GET /openapi.json with chunks to come',
      writeRequest('GET', '/openapi.json', { headers: { 'Transfer-Encoding': 'chunked' } }),
    ),
    ...[
      ...[
        '/nowhere',
        '//livez',
        '/livez/',
        '/LIVEZ',
        '/%6civez',
        '/%',
        '/livez#fragment',
        'http://other:1/livez',
        '*',
      ],
      ...[
        '/api',
        '/api/',
        '/api/cli/',
        '/api/cli/tasks/',
        '/api/cli/Tasks',
        '/api//cli/tasks',
        '/API/cli/tasks',
      ],
      ...['/api/cli/tasks//cancel', '/api/cli/tasks/x1/', '/api/cli/tasks/x1/nowhere', '/api/admin/tasks/x1'],
      ...[`/api/cli/tasks/a%2Fb?${AUTH}`, `/api/cli/tasks/%ff?${AUTH}`, `/api/cli/tasks/x1?${AUTH}#fragment`],
      ...[
        `/api/cli/tasks/x1#fragment?${AUTH}`,
        `/api/cli/tasks/%E4%BB%BB/explain?${AUTH}`,
        `/%61pi/cli/tasks/x1?${AUTH}`,
      ],
      ...[
        `http://other:1/api/cli/tasks/x1?${AUTH}`,
        `/api/cli/tasks/x1??${AUTH}`,
        `/api/cli/tasks/..?${AUTH}`,
      ],
      ...['/apis', '/api/admin/tasks/cancel', '/api/cli/match'],
    ].flatMap((target) =>
      ['GET', 'OPTIONS', 'PUT'].map((method) =>
        record(`${method} ${target.replace(AUTH, 'AUTH')}`, writeRequest(method, target)),
      ),
    ),
    record('PROPFIND /api/cli/tasks', writeRequest('PROPFIND', '/api/cli/tasks')),
  ];
}

/** Requests of web pages. */
export function listOriginRequests(): readonly RecordedRequest[] {
  const preflight = (path: string, origin: string): Buffer =>
    writeRequest('OPTIONS', path, { headers: { Origin: origin, 'Access-Control-Request-Method': 'POST' } });
  const nearly = ['https://page.example.evil', 'http://page.example', 'null'];
  const ofEach = [ORIGIN, 'https://other.example'].flatMap((origin) => [
    ...OPERATIONS.map((one) => record(`${one} of ${origin}`, writeCall(usual(one), { Origin: origin }))),
    record(
      `claimTask with a trace of ${origin}`,
      writeCall(buildCall('claimTask', secrets, { agent_id: 'traced' }), { Origin: origin }),
    ),
    ...[
      '/api/cli/tasks',
      '/api/cli/tasks/x1',
      '/api/admin/tasks/cancel',
      '/livez',
      '/docs',
      '/nowhere',
      '/api/x',
    ].map((path) => record(`OPTIONS ${path} of ${origin}`, preflight(path, origin))),
    ...['/livez', '/', '/openapi.json', '/docs', '/console/', '/metrics', '/nowhere', '/api/cli/tasks'].map(
      (path) =>
        record(`GET ${path} of ${origin}`, writeRequest('GET', path, { headers: { Origin: origin } })),
    ),
    ...['none', 'unavailable'].map((id) =>
      record(`a task that is ${id} of ${origin}`, read(id, { Origin: origin })),
    ),
    record(
      `401 of ${origin}`,
      writeRequest('GET', '/api/cli/tasks/x1?auth=wrong', { headers: { Origin: origin } }),
    ),
    record(
      `a feed that fails at once of ${origin}`,
      writeCall(usual('subscribeEvents', 'fails'), { Origin: origin }),
    ),
  ]);
  return [
    ...ofEach,
    ...nearly.map((origin) =>
      record(`OPTIONS /api/cli/tasks of ${origin}`, preflight('/api/cli/tasks', origin)),
    ),
  ];
}

/** Requests under a foreign name, to a gateway with the default secret. */
export function listForeignRequests(): readonly RecordedRequest[] {
  return [
    '/livez',
    '/openapi.json',
    '/docs',
    '/metrics',
    '/nowhere',
    '/api/cli/tasks/x1',
    '/api/cli/tasks',
  ].flatMap((path) =>
    ['GET', 'POST', 'OPTIONS'].flatMap((method) => [
      record(
        `${method} ${path} under a foreign name`,
        writeRequest(method, path, { headers: { Host: 'evil.example' } }),
      ),
      record(
        `${method} ${path} of a foreign page`,
        writeRequest(method, path, { headers: { Host: 'localhost', Origin: 'null' } }),
      ),
    ]),
  );
}

/** Bytes that are no request, or one too slow. */
export function listInvalidRequests(): readonly RecordedRequest[] {
  return [
    record('garbage', Buffer.from('garbage\r\n\r\n')),
    record('no host', Buffer.from('GET /livez HTTP/1.1\r\n\r\n')),
    record('two hosts', Buffer.from('GET /livez HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n')),
    record('headers that are too large', writeRequest('GET', '/', { headers: { X: 'x'.repeat(20_000) } })),
    record('headers that are slow', Buffer.from('GET /livez HTTP/1.1\r\nHost:')),
    record('a body that is slow', submit('{', { 'Content-Length': '10' })),
    record('a body that is slow in chunks', submit('1\r\n{\r\n', { 'Transfer-Encoding': 'chunked' })),
  ];
}
