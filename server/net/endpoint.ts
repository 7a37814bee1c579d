/**
 * Where pushes go to: the endpoints of agents, parsed. Each is used for every task of its agent, and to
 * parse a URL is among the dearest steps of a push, so the latest are kept.
 */

/** The origin to connect to, and the path with its query. */
export type Endpoint = { readonly origin: string; readonly path: string };

const KEPT_MAX = 4_096;
/** The one parsed first comes first. */
const kept = new Map<string, Endpoint | string>();

/** Parses an endpoint, or returns in a few words why it cannot be used. */
export function parseEndpoint(text: string): Endpoint | string {
  const found = kept.get(text);
  if (found !== undefined) return found;
  const parsed = parse(text);
  const [first] = kept.keys();
  if (kept.size >= KEPT_MAX && first !== undefined) kept.delete(first);
  kept.set(text, parsed);
  return parsed;
}

function parse(text: string): Endpoint | string {
  const url = URL.parse(text);
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    return 'the endpoint is not an http(s) URL';
  if (url.username !== '' || url.password !== '') return 'the endpoint contains credentials';
  return { origin: url.origin, path: `${url.pathname}${url.search}` };
}
