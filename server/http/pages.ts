/**
 * The pages beside the operations: the documents of the contract, an index of them at `/`, and the page at
 * `/docs`: the two documents, rendered by Swagger UI, and the files it loads. Those are generated, and are
 * read with the first request for each: most gateways are never asked for them.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Context, Middleware } from 'koa';
import { loadOnce } from '../async/load-once.ts';
import { matchesTag } from './response/entity-tag.ts';

/** A page that does not change while the server runs. */
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

/** Reads the whole document, which is not served: the operations and their validators are made of it. */
export function readWholeDocument(): unknown {
  const path = fileURLToPath(import.meta.resolve('@task-gateway/contract/openapi.whole.json'));
  return JSON.parse(readFileSync(path, 'utf8'));
}

/** Loads the published documents and the index page. */
export function loadPages(version: string): readonly Page[] {
  const documents = DOCUMENTS.map(({ path, file, contentType }) => {
    const url = import.meta.resolve(`@task-gateway/contract/${file}`);
    return buildPage(path, contentType, readFileSync(fileURLToPath(url)));
  });
  const index = {
    name: 'Task Gateway',
    version,
    documents: DOCUMENTS.map(({ path }) => path),
    health: ['/livez', '/readyz'],
    metrics: '/metrics',
  };
  return [buildPage('/', 'application/json', Buffer.from(JSON.stringify(index))), ...documents];
}

/**
 * The folder of the files that are generated for a page and served as they are. A package of the server has
 * the folders of the repository, so that they are found in the same place.
 */
export function findServedFiles(page: 'console' | 'docs'): URL {
  return new URL(`../../generated/${page}/`, import.meta.url);
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  md: 'text/markdown; charset=utf-8',
  svg: 'image/svg+xml',
};

/** The type of such a file, by the end of its name; of any other it is text. */
export function findContentType(file: string): string {
  return CONTENT_TYPES[file.split('.').at(-1) ?? ''] ?? 'text/plain; charset=utf-8';
}

/** Builds a page; its ETag changes with its content. */
export function buildPage(path: string, contentType: string, body: Buffer): Page {
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
  return { path, contentType, body, etag };
}

/** Responds with a page; with 304 to a caller that already has it. */
export function respondWithPage(ctx: Context, page: Page, headers: Readonly<Record<string, string>>): void {
  ctx.set({ 'Content-Type': page.contentType, ...headers, ETag: page.etag });
  const isKnown = matchesTag(ctx.get('If-None-Match'), page.etag);
  if (isKnown) ctx.status = 304;
  ctx.body = isKnown ? null : page.body;
}

/** Sends a caller to another address, given relative to its own. */
export function redirectTo(status: 302 | 308, location: string): Middleware {
  return (ctx) => {
    ctx.status = status;
    ctx.set('Location', location);
    ctx.body = '';
  };
}

const OPEN_HEADERS = {
  'Access-Control-Allow-Origin': '*',
  // A copy may be kept, and is used once the gateway says that it is current.
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

/**
 * Scripts, styles and calls of the page's own origin alone; images are part of its styles. Nothing inline,
 * nothing evaluated, and no other page may frame it.
 */
const DOCS_HEADERS = {
  'Content-Security-Policy': [
    ...["default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:"],
    ...["connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
  ].join('; '),
  'Cross-Origin-Opener-Policy': 'same-origin',
  // A copy may be kept, and is used once the gateway says that it is current.
  'Cache-Control': 'no-cache',
};

/** The routes of the page and its files. With a slash at its end its relative addresses would be wrong. */
export function listDocsRoutes(): readonly { readonly path: string; readonly middleware: Middleware }[] {
  const routes = DOCS_FILES.map((file) => {
    const path = file === 'index.html' ? '/docs' : `/docs/${file}`;
    const load = loadOnce(async () =>
      buildPage(path, findContentType(file), await readFile(new URL(file, DOCS_FOLDER))),
    );
    const middleware: Middleware = async (ctx) => respondWithPage(ctx, await load(), DOCS_HEADERS);
    return { path, middleware };
  });
  return [...routes, { path: '/docs/', middleware: redirectTo(308, '../docs') }];
}
