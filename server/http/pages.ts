/** The pages beside the operations: the documents of the contract, and an index of them at `/`. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Context } from 'koa';
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
