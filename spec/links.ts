/** The links from `submitTask` to the calls on its task: tools show them as what a client can call next. */
import { type Json, listOperations, requireObject } from './document.ts';

/** The operations that take a value of the submitted task, and where the value stands in it. */
const LINKS: readonly { readonly operationId: string; readonly parameter: string; readonly text: string }[] =
  [
    { operationId: 'getTask', parameter: 'request_id', text: 'Get the task, or wait for its end.' },
    { operationId: 'readOutput', parameter: 'request_id', text: 'Follow its output and its progress.' },
    { operationId: 'cancelTask', parameter: 'request_id', text: 'Cancel the task.' },
    { operationId: 'explainTask', parameter: 'request_id', text: 'See why the task does not run.' },
    { operationId: 'subscribeEvents', parameter: 'cli_session_id', text: 'Receive the event of its end.' },
  ];

/** Adds the links. Throws if an operation lacks the parameter that takes the value. */
export function addLinks(document: Json): void {
  const operations = new Map(
    [...listOperations(document)].map(({ operation }) => [operation.operationId, operation]),
  );
  const links: Json = {};
  for (const { operationId, parameter, text } of LINKS) {
    const parameters = JSON.stringify(operations.get(operationId)?.parameters ?? []);
    if (!parameters.includes(`"name":"${parameter}"`) && !parameters.includes(`/${parameter}"`)) {
      throw new Error(`${operationId} has no parameter ${parameter} to link to.`);
    }
    links[operationId] = {
      operationId,
      parameters: { [parameter]: `$response.body#/${parameter}` },
      description: text,
    };
  }
  const submit = operations.get('submitTask');
  if (!submit) throw new Error('There is no submitTask to link from.');
  requireObject(submit, 'responses', '200').links = links;
}
