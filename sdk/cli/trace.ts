/** `--debug`: logs every HTTP request to the gateway and its response, without secrets. */
import type { Fetch } from '../transport.ts';
import { messageOf } from './exit-codes.ts';
import { describeBody, describeHeaders } from './terminal/redaction.ts';

/**
 * Wraps a `fetch` so that it logs what it sends and receives. Of the responses, only JSON bodies are read.
 */
export function createTracingFetch(fetch: Fetch, log: (line: string) => void): Fetch {
  return async (request, init) => {
    const startMs = performance.now();
    log(`> ${request.method} ${request.url}`);
    for (const line of describeHeaders(request.headers)) log(`> ${line}`);
    const sent = request.body ? await request.clone().text() : '';
    if (sent) log(`> ${describeBody(sent)}`);
    try {
      const response = await fetch(request, init);
      log(`< ${response.status} after ${Math.round(performance.now() - startMs)} ms`);
      for (const line of describeHeaders(response.headers)) log(`< ${line}`);
      if (isJson(response)) log(`< ${describeBody(await response.clone().text())}`);
      return response;
    } catch (error) {
      log(`< no response after ${Math.round(performance.now() - startMs)} ms: ${messageOf(error)}`);
      throw error;
    }
  };
}

function isJson(response: Response): boolean {
  return /[/+]json\b/.test(response.headers.get('content-type') ?? '');
}
