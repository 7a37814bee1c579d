/** Asking the server over HTTP, with every answer of an operation checked against the document. */

import { type Answer, createDocumentCheck } from '../contract/document-check.ts';
import type { Call } from '../contract/usual-calls.ts';
import { send } from '../contract/usual-calls.ts';

const check = createDocumentCheck();

/** Codes of answers that belong to no operation. */
const OF_NO_OPERATION = ['route_not_found', 'method_not_allowed'];

export type Asked = Answer & { readonly json: Readonly<Record<string, unknown>> };

/** Sends a request; throws when the answer is not one the document allows. */
export async function ask(url: string, call: Call): Promise<Asked> {
  const answer = await send(url, call);
  const json = answer.headers.get('content-type')?.includes('json') ? JSON.parse(answer.text) : {};
  if (!OF_NO_OPERATION.includes(json.code)) {
    const faults = check.findFaults(answer);
    if (faults.length > 0) throw new Error(faults.join('\n'));
  }
  return { ...answer, json };
}

/** The pointers of a 422. */
export function pointersOf({ json }: Asked): readonly string[] {
  const { errors } = json;
  return Array.isArray(errors) ? errors.map(({ pointer }) => pointer) : [];
}
