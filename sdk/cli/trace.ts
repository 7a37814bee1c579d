/** `--debug`: logs every HTTP request to the gateway and its response, without secrets. */
import { readMonotonicMs, systemClock } from '../clock.ts';
import type { Fetch } from '../transport.ts';
import { messageOf } from './exit-codes.ts';
import { describeBody, describeHeaders } from './terminal/redaction.ts';

/** How much of a body is read for the log; the caller of `fetch` has its own limits. */
const READ_BYTES_MAX = 1_048_576;

/** Wraps a `fetch` so that it logs what it sends and receives. Of the responses it reads only JSON bodies. */
export function createTracingFetch(fetch: Fetch, log: (line: string) => void): Fetch {
  return async (request, init) => {
    const startMs = readMonotonicMs(systemClock);
    const elapsed = (): string => `${Math.round(readMonotonicMs(systemClock) - startMs)} ms`;
    log(`> ${request.method} ${request.url}`);
    for (const line of describeHeaders(request.headers)) log(`> ${line}`);
    const sent = request.body ? await request.clone().text() : '';
    if (sent) log(`> ${describeBody(sent)}`);
    try {
      const response = await fetch(request, init);
      log(`< ${response.status} after ${elapsed()}`);
      for (const line of describeHeaders(response.headers)) log(`< ${line}`);
      if (isJson(response)) log(`< ${describeBody(await readStart(response.clone()))}`);
      return response;
    } catch (error) {
      log(`< no response after ${elapsed()}: ${messageOf(error)}`);
      throw error;
    }
  };
}

async function readStart({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > READ_BYTES_MAX) break;
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}

function isJson(response: Response): boolean {
  return /[/+]json\b/.test(response.headers.get('content-type') ?? '');
}
