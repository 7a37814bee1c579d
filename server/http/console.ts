/**
 * The console at `/console`, for those who run the gateway: its page, served at the address of
 * each of its views, and the files that the page loads. They are generated, and are read with the first
 * request. None of them holds data or a secret: the page asks for the administrator's secret.
 */
import { readdir, readFile } from 'node:fs/promises';
import type { Context, Middleware } from 'koa';
import { loadOnce } from '../async/load-once.ts';
import {
  buildPage,
  findContentType,
  findServedFiles,
  type Page,
  redirectTo,
  respondWithPage,
} from './pages.ts';
import { Problem } from './problems.ts';

const FOLDER = findServedFiles('console');

/** The addresses of the views below `/console/`, as `console/routing/routes.ts` reads them. */
const VIEW = /^(|tasks|agents|events|submit|(tasks|agents)\/[^/]+)$/;

/**
 * Scripts, styles, images and calls of the page's own origin alone; nothing inline, nothing evaluated, no
 * form is sent, and no other page may frame it.
 */
const HEADERS = {
  'Content-Security-Policy': [
    ...["default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'"],
    ...["connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
  ].join('; '),
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

/** A copy of the page may be kept, and is used once the gateway says that it is current. */
const PAGE_HEADERS = { ...HEADERS, 'Cache-Control': 'no-cache' };
/** A name that changes with what is in the file, so that a copy is always current: `tasks-B5d5csx0`. */
const HASHED = /-[\w-]{8}\.\w+$/;
const FILE_HEADERS = { ...HEADERS, 'Cache-Control': 'public, max-age=31536000, immutable' };

type ConsoleRoute = { readonly path: string; readonly middleware: Middleware };

/** The routes of the console. */
export function listConsoleRoutes(): readonly ConsoleRoute[] {
  const loadFiles = loadOnce(readFiles);
  const serve: Middleware = async (ctx) => {
    const below = ctx.path.slice('/console/'.length);
    const files = await loadFiles();
    const file = below === PAGE ? undefined : files.get(below);
    if (file) {
      respondWithPage(ctx, file, HASHED.test(below) ? FILE_HEADERS : PAGE_HEADERS);
      return;
    }
    const isView = VIEW.test(below);
    // A person who mistyped an address gets the page, which says so; a program gets a problem.
    if (!isView && (/\.\w+$/.test(below) || !wantsHtml(ctx))) {
      throw new Problem('route_not_found', 'The console has nothing at this path. It begins at /console/.');
    }
    const view = buildView(files, below.split('/').length - 1);
    respondWithPage(ctx, view, PAGE_HEADERS);
    if (isView) return;
    // A page that is missing is not current either.
    ctx.status = 404;
    ctx.body = view.body;
  };
  return [
    { path: '/console', middleware: redirectTo(308, 'console/') },
    { path: '/console/{*below}', middleware: serve },
  ];
}

const PAGE = 'index.html';

/** The page loads its files from its own folder, which is so many steps up: it works below any path. */
function buildView(files: ReadonlyMap<string, Page>, depth: number): Page {
  const text = files.get(PAGE)?.body.toString() ?? '';
  const led = text.replaceAll('="./', `="${'../'.repeat(depth) || './'}`);
  return buildPage('/console/', 'text/html; charset=utf-8', Buffer.from(led));
}

async function readFiles(): Promise<ReadonlyMap<string, Page>> {
  const names = await readdir(FOLDER);
  const pages = names.map(async (name) => {
    const body = await readFile(new URL(name, FOLDER));
    return [name, buildPage(`/console/${name}`, findContentType(name), body)] as const;
  });
  return new Map(await Promise.all(pages));
}

/** Whether a caller prefers HTML to JSON, as browsers do; one that takes anything does not. */
function wantsHtml(ctx: Context): boolean {
  return ctx.accepts('json', 'html') === 'html';
}

/** Serves the index at `/`, and sends a person's browser to the console. */
export function createIndexPage(serveIndex: Middleware): Middleware {
  const redirect = redirectTo(302, 'console/');
  return async (ctx, next) => {
    ctx.vary('Accept');
    await (wantsHtml(ctx) ? redirect : serveIndex)(ctx, next);
  };
}
