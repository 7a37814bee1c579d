/**
 * The page at `/docs`: the two documents, rendered by Swagger UI, and the files it loads. They are generated,
 * and are read with the first request for each: most gateways are never asked for them.
 */
import { readFile } from 'node:fs/promises';
import type { Middleware } from 'koa';
import { loadOnce } from '../async/load-once.ts';
import { buildPage, findServedFiles, respondWithPage } from './pages.ts';

const FOLDER = findServedFiles('docs');

const FILES = [
  { path: '/docs', file: 'index.html', contentType: 'text/html; charset=utf-8' },
  { path: '/docs/page.css', file: 'page.css', contentType: 'text/css; charset=utf-8' },
  { path: '/docs/page.js', file: 'page.js', contentType: 'text/javascript; charset=utf-8' },
  { path: '/docs/swagger-ui.css', file: 'swagger-ui.css', contentType: 'text/css; charset=utf-8' },
  {
    path: '/docs/swagger-ui-bundle.js',
    file: 'swagger-ui-bundle.js',
    contentType: 'text/javascript; charset=utf-8',
  },
  { path: '/docs/LICENSE', file: 'LICENSE', contentType: 'text/plain; charset=utf-8' },
  { path: '/docs/NOTICE', file: 'NOTICE', contentType: 'text/plain; charset=utf-8' },
  {
    path: '/docs/swagger-ui-bundle.js.LICENSE.txt',
    file: 'swagger-ui-bundle.js.LICENSE.txt',
    contentType: 'text/plain; charset=utf-8',
  },
];

/**
 * Scripts, styles and calls of the page's own origin alone; images are part of its styles. Nothing inline,
 * nothing evaluated, and no other page may frame it.
 */
const HEADERS = {
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
  const routes = FILES.map(({ path, file, contentType }) => {
    const load = loadOnce(async () => buildPage(path, contentType, await readFile(new URL(file, FOLDER))));
    const middleware: Middleware = async (ctx) => respondWithPage(ctx, await load(), HEADERS);
    return { path, middleware };
  });
  const redirect: Middleware = (ctx) => {
    ctx.status = 308;
    ctx.set('Location', '../docs');
    ctx.body = '';
  };
  return [...routes, { path: '/docs/', middleware: redirect }];
}
