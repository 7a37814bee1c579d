/** Calls over HTTP whose responses are checked against the document. */
import { createDocumentCheck, type ReceivedResponse } from '../contract/document-check.ts';
import { type Call, send } from '../contract/usual-calls.ts';

const check = createDocumentCheck();

/** Codes of responses that belong to no operation. */
const CODES_WITHOUT_OPERATION = ['route_not_found', 'method_not_allowed'];

export type CheckedResponse = ReceivedResponse & { readonly json: Readonly<Record<string, unknown>> };

/** Sends a request; throws when the document does not allow the response. */
export async function sendChecked(url: string, call: Call): Promise<CheckedResponse> {
  const response = await send(url, call);
  const json = response.headers.get('content-type')?.includes('json') ? JSON.parse(response.text) : {};
  if (!CODES_WITHOUT_OPERATION.includes(json.code)) {
    const deviations = check.findDeviations(response);
    if (deviations.length > 0) throw new Error(deviations.join('\n'));
  }
  return { ...response, json };
}

/** The pointers in the errors of a 422. */
export function pointersOf({ json }: CheckedResponse): readonly string[] {
  const { errors } = json;
  return Array.isArray(errors) ? errors.map(({ pointer }) => pointer) : [];
}
