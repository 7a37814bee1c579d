/** `--debug`: every exchange with the gateway on standard error, without secrets. */
import type { Fetch } from '../transport.ts';
import { describeBody, describeHeaders } from './terminal/redaction.ts';

/** A `fetch` that tells what it sends and what comes back. Bodies that never end are not read. */
export function createTracingFetch(fetch: Fetch, say: (line: string) => void): Fetch {
  return async (request, init) => {
    const startMs = Date.now();
    say(`> ${request.method} ${request.url}`);
    for (const line of describeHeaders(request.headers)) say(`> ${line}`);
    const sent = request.body ? await request.clone().text() : '';
    if (sent) say(`> ${describeBody(sent)}`);
    try {
      const response = await fetch(request, init);
      say(`< ${response.status} after ${Date.now() - startMs} ms`);
      for (const line of describeHeaders(response.headers)) say(`< ${line}`);
      if (isJson(response)) say(`< ${describeBody(await response.clone().text())}`);
      return response;
    } catch (error) {
      say(`< no answer after ${Date.now() - startMs} ms: ${error instanceof Error ? error.message : error}`);
      throw error;
    }
  };
}

function isJson(response: Response): boolean {
  return /[/+]json\b/.test(response.headers.get('content-type') ?? '');
}
