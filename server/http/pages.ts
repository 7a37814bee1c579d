/**
 * The pages beside the operations: the documents of the contract, an index of them at `/`, and `/docs`, where
 * Swagger UI shows the documents. Their files are generated, and read with the first request for each,
 * because most gateways are never asked for them.
 */
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Context, Middleware } from 'koa';
import { loadOnce } from '../async/load-once.ts';
import { buildTag } from './response/entity-tag.ts';

/** A page that stays the same while the server runs. */
export type Page = {
  readonly path: string;
  readonly contentType: string;
  readonly body: Buffer;
  readonly etag: string;
};

const DOCUMENTS = [
  { path: '/openapi.json', file: 'openapi.json', contentType: 'application/json' },
  { path: '/openapi.yaml', file: 'openapi.yaml', contentType: 'application/yaml; charset=utf-8' },
  { path: '/openapi.3.2.json', file: 'openapi.3.2.json', contentType: 'application/json' },
  { path: '/openapi.admin.json', file: 'openapi.admin.json', contentType: 'application/json' },
  { path: '/openapi.agent.json', file: 'openapi.agent.json', contentType: 'application/json' },
];

type Route = { readonly path: string; readonly middleware: Middleware };

/** Reads the whole document. It is not served; operations and validators are built from it. */
export function readWholeDocument(): unknown {
  return JSON.parse(readFileSync(findDocument('openapi.whole.json'), 'utf8'));
}

/** Lists the routes of the published documents. Each document is read with its first request. */
export function listDocumentRoutes(): readonly Route[] {
  return DOCUMENTS.map((document) => {
    const load = loadOnce(() => readDocument(document));
    const middleware: Middleware = async (ctx) => {
      const { plain, zipped } = await load();
      ctx.vary('Accept-Encoding');
      const isZipped = ctx.acceptsEncodings('gzip', 'identity') === 'gzip';
      if (isZipped) ctx.set('Content-Encoding', 'gzip');
      respondWithPage(ctx, isZipped ? zipped : plain, OPEN_HEADERS);
    };
    return { path: document.path, middleware };
  });
}

/** Reads a document as it is served: JSON in one line, without the code samples, which only `/docs` shows. */
async function readDocument({ path, file, contentType }: (typeof DOCUMENTS)[number]) {
  const text = await readFile(findDocument(file), 'utf8');
  const isJson = contentType === 'application/json';
  const served = isJson ? JSON.stringify(JSON.parse(text), omitSamples) : text;
  const plain = buildPage(path, contentType, Buffer.from(served));
  return { plain, zipped: buildPage(path, contentType, await promisify(gzip)(plain.body)) };
}

function findDocument(file: string): string {
  return fileURLToPath(import.meta.resolve(`@task-gateway/contract/${file}`));
}

function omitSamples(key: string, value: unknown): unknown {
  return key === 'x-codeSamples' ? undefined : value;
}

export function buildIndex(version: string): Page {
  const index = {
    name: 'Task Gateway',
    version,
    documents: DOCUMENTS.map(({ path }) => path),
    health: ['/livez', '/readyz'],
    metrics: '/metrics',
  };
  return buildPage('/', 'application/json', Buffer.from(JSON.stringify(index)));
}

/**
 * Finds the folder of a page's generated files. The server's package has the same folders as the repository.
 */
export function findServedFiles(page: 'console' | 'docs'): URL {
  return new URL(`../../generated/${page}/`, import.meta.url);
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  json: 'application/json',
  md: 'text/markdown; charset=utf-8',
  svg: 'image/svg+xml',
};

/** Finds the content type by the end of the file's name; any other file is text. */
export function findContentType(file: string): string {
  return CONTENT_TYPES[file.split('.').at(-1) ?? ''] ?? 'text/plain; charset=utf-8';
}

/** Builds a page with an ETag over its content. */
export function buildPage(path: string, contentType: string, body: Buffer): Page {
  return { path, contentType, body, etag: buildTag(body) };
}

export function respondWithPage(ctx: Context, page: Page, headers: Readonly<Record<string, string>>): void {
  ctx.set({ 'Content-Type': page.contentType, ...headers, ETag: page.etag });
  ctx.body = page.body;
}

/** Redirects to a location that is relative to the request's path. */
export function redirectTo(status: 302 | 308, location: string): Middleware {
  return (ctx) => {
    ctx.status = status;
    ctx.set('Location', location);
    ctx.body = '';
  };
}

const OPEN_HEADERS = {
  'Access-Control-Allow-Origin': '*',
  // A browser may keep a copy, but must ask whether it is current.
  'Cache-Control': 'no-cache',
};

/** Serves a page that any web page may read. */
export function servePage(page: Page): Middleware {
  return (ctx) => respondWithPage(ctx, page, OPEN_HEADERS);
}

const DOCS_FOLDER = findServedFiles('docs');

const DOCS_FILES = [
  ...['index.html', 'page.css', 'page.js', 'swagger-ui.css', 'swagger-ui-bundle.js'],
  ...['LICENSE', 'NOTICE', 'swagger-ui-bundle.js.LICENSE.txt'],
];

/** The documents that `/docs` shows, with their code samples. */
const DOCS_DOCUMENTS = ['openapi.3.2.json', 'openapi.admin.json'];

/**
 * The page may load scripts and styles of its own origin and call it; its styles contain images. Inline
 * scripts and evaluation are forbidden, and no other page may frame this one.
 */
const DOCS_HEADERS = {
  'Content-Security-Policy': [
    ...["default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:"],
    ...["connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
  ].join('; '),
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cache-Control': 'no-cache',
};

/**
 * Lists the routes of the page and its files. `/docs/` is redirected, because there its relative addresses
 * would be wrong.
 */
export function listDocsRoutes(): readonly Route[] {
  const routes = [...DOCS_FILES, ...DOCS_DOCUMENTS].map((file) => {
    const path = file === 'index.html' ? '/docs' : `/docs/${file}`;
    const source = DOCS_DOCUMENTS.includes(file) ? findDocument(file) : new URL(file, DOCS_FOLDER);
    const load = loadOnce(async () => buildPage(path, findContentType(file), await readFile(source)));
    const middleware: Middleware = async (ctx) => respondWithPage(ctx, await load(), DOCS_HEADERS);
    return { path, middleware };
  });
  return [...routes, { path: '/docs/', middleware: redirectTo(308, '../docs') }];
}
