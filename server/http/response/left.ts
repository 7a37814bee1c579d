/** Tells when the caller of a request leaves. */
import type { ServerResponse } from 'node:http';

/** Fires when the caller leaves before its response. */
export function signalLeft(res: ServerResponse): AbortSignal {
  const left = new AbortController();
  if (res.destroyed) left.abort('closed');
  else res.once('close', () => left.abort('closed'));
  return left.signal;
}
