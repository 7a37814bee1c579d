/**
 * The pages and their addresses. All are below the folder of the console's script, so that the console works
 * below any path of a proxy. An address holds all that its page shows, so a copied link shows the same.
 */
import { type ReadonlySignal, signal } from '@preact/signals';

export type Route =
  | { readonly page: 'overview' }
  | { readonly page: 'tasks' }
  | { readonly page: 'task'; readonly request_id: string }
  | { readonly page: 'agents' }
  | { readonly page: 'agent'; readonly agent_id: string }
  | { readonly page: 'events' }
  | { readonly page: 'submit' }
  /** No page has this address. */
  | { readonly page: 'none' };

/** The page that is shown, and its query, which begins with `?` or is empty. */
export type Address = { readonly route: Route; readonly search: string };

/** Finds the page of a path below the console's folder, such as `tasks/0198…`. */
export function parsePath(path: string): Route {
  const [page = '', id, ...rest] = path.split('/');
  if (rest.length > 0) return { page: 'none' };
  if (id === undefined || id === '') {
    if (page === '') return { page: 'overview' };
    if (page === 'tasks' || page === 'agents' || page === 'events' || page === 'submit') return { page };
    return { page: 'none' };
  }
  const decoded = decodeSegment(id);
  if (decoded === undefined) return { page: 'none' };
  if (page === 'tasks') return { page: 'task', request_id: decoded };
  if (page === 'agents') return { page: 'agent', agent_id: decoded };
  return { page: 'none' };
}

function decodeSegment(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

/** The path of a page below the console's folder. */
export function writePath(route: Route): string {
  if (route.page === 'task') return `tasks/${encodeURIComponent(route.request_id)}`;
  if (route.page === 'agent') return `agents/${encodeURIComponent(route.agent_id)}`;
  return route.page === 'overview' || route.page === 'none' ? '' : route.page;
}

/** The folder of the console with a slash at its end, such as `/console/` or `/prefix/console/`. */
let folder = '/console/';
const current = signal<Address>({ route: { page: 'overview' }, search: '' });

/** The address that is shown now. */
export const address: ReadonlySignal<Address> = current;

/** The link to a page, with a query such as `?tag=gpu`. */
export function hrefOf(route: Route, search = ''): string {
  return `${folder}${writePath(route)}${search}`;
}

/** The address of the gateway that serves this console, without a slash at its end. */
export function gatewayUrl(): string {
  return new URL('..', new URL(folder, location.origin)).href.replace(/\/$/, '');
}

/** Shows another page. With `replace`, the browser's history gets no new entry. */
export function navigate(href: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, '', href);
  else history.pushState(null, '', href);
  readLocation();
  if (!replace) scrollTo(0, 0);
}

/** Changes the query of the page. Without `push`, the browser's history gets no new entry. */
export function changeSearch(search: string, { push = false } = {}): void {
  const href = hrefOf(current.peek().route, search);
  if (push) navigate(href);
  else navigate(href, { replace: true });
}

/**
 * Reads the address, then follows links within the console and the browser's history. `script` is the address
 * of the console's script, which is in the console's folder.
 */
export function startRouting(script: string): void {
  folder = new URL('.', script).pathname;
  readLocation();
  addEventListener('popstate', readLocation);
  document.addEventListener('click', followLink);
}

function readLocation(): void {
  const { pathname, search } = location;
  const route = parsePath(pathname.startsWith(folder) ? pathname.slice(folder.length) : '');
  const before = current.peek();
  if (before.search === search && writePath(before.route) === writePath(route)) {
    if (before.route.page === route.page) return;
  }
  current.value = { route, search };
}

/** Shows the page of a link without loading anything, unless the reader wants it in another tab or window. */
function followLink(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  if (!link?.hasAttribute('href') || link.target || link.hasAttribute('download')) return;
  const url = new URL(link.href);
  if (url.origin !== location.origin || !url.pathname.startsWith(folder)) return;
  if (url.hash !== '' && url.pathname === location.pathname && url.search === location.search) return;
  event.preventDefault();
  navigate(`${url.pathname}${url.search}${url.hash}`);
}
