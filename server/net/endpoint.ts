/**
 * The endpoints of agents, parsed. An endpoint serves every task of its agent, and parsing a URL is one of
 * the dearest steps of a push. So the latest parsed endpoints are kept.
 */

/** The origin to connect to, and the path with the query. */
export type Endpoint = { readonly origin: string; readonly path: string };

const KEPT_MAX = 4_096;
/** The entry parsed first comes first. */
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
