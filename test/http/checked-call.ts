/** Calls over HTTP whose responses are checked against the document. */
import { type Answer, createDocumentCheck } from '../contract/document-check.ts';
import { type Call, send } from '../contract/usual-calls.ts';

const check = createDocumentCheck();

/** Codes of responses that belong to no operation. */
const CODES_WITHOUT_OPERATION = ['route_not_found', 'method_not_allowed'];

export type CheckedResponse = Answer & { readonly json: Readonly<Record<string, unknown>> };

/** Sends a request; throws when the document does not allow the response. */
export async function sendChecked(url: string, call: Call): Promise<CheckedResponse> {
  const answer = await send(url, call);
  const json = answer.headers.get('content-type')?.includes('json') ? JSON.parse(answer.text) : {};
  if (!CODES_WITHOUT_OPERATION.includes(json.code)) {
    const deviations = check.findDeviations(answer);
    if (deviations.length > 0) throw new Error(deviations.join('\n'));
  }
  return { ...answer, json };
}

/** The pointers in the errors of a 422. */
export function pointersOf({ json }: CheckedResponse): readonly string[] {
  const { errors } = json;
  return Array.isArray(errors) ? errors.map(({ pointer }) => pointer) : [];
}
