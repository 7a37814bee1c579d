/**
 * A request on a connection of its own that ends with it: no connection of the caller stays with the gateway.
 */
import { request } from 'node:http';
import { createDocumentCheck } from '../contract/document-check.ts';
import type { Call } from '../contract/usual-calls.ts';
import type { CheckedResponse } from '../http/checked-call.ts';

const check = createDocumentCheck();

/** Sends a request; rejects when the response is not one the document allows. */
export async function askOnce(url: string, { method, path, headers, body }: Call): Promise<CheckedResponse> {
  const answer = await new Promise<CheckedResponse>((resolve, reject) => {
    const sent = request(url + path, { method, headers: { ...headers }, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part) => (text += part));
      response.on('end', () => {
        const got = new Headers(
          Object.entries(response.headersDistinct).map(([name, values]): [string, string] => [
            name,
            String(values),
          ]),
        );
        const json = got.get('content-type')?.includes('json') ? JSON.parse(text) : {};
        resolve({ method, path, status: response.statusCode ?? 0, headers: got, text, json });
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
  const faults = check.findDeviations(answer);
  if (faults.length > 0) throw new Error(faults.join('\n'));
  return answer;
}
