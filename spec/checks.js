/**
 * What the contract asks of its own sources, checked whenever they are compiled: every operation is named, described
 * and shown by examples, says 401 where it wants a secret, and nothing a stranger reads is without a sentence.
 */
import {
  getDoc,
  getExamples,
  getOpExamples,
  getReturnsDoc,
  getSummary,
  navigateTypesInNamespace,
} from '@typespec/compiler';
import { getAllHttpServices } from '@typespec/http';
import { getOperationId } from '@typespec/openapi';

/** Called by the compiler once all sources are read. */
export function $onValidate(program) {
  const [services] = getAllHttpServices(program);
  for (const { namespace, operations } of services) {
    for (const operation of operations) checkOperation(program, operation);
    navigateTypesInNamespace(namespace, {
      model: (model) => checkModel(program, model),
      enum: (type) => wantDoc(program, type, type.members.values()),
      union: (union) => union.name && wantDoc(program, union),
      scalar: (scalar) => wantDoc(program, scalar),
    });
  }
}

function checkOperation(program, { operation, parameters, responses, authentication }) {
  const { name } = operation;
  const report = (code, message) => reportError(program, code, message, operation);
  if (getOperationId(program, operation) !== name)
    report('operation-id', `${name} needs @operationId("${name}")`);
  if (!getSummary(program, operation)) report('summary', `${name} needs a @summary`);
  if (!getDoc(program, operation)) report('doc', `${name} needs a doc comment`);
  for (const { param } of parameters.parameters) wantDoc(program, param);
  checkExamples(program, operation, responses, report);
  const wantsSecret =
    authentication?.options.some(({ schemes }) => schemes.some(({ type }) => type !== 'noAuth')) ||
    parameters.body?.type.properties?.has('auth');
  if (wantsSecret && !responses.some(({ statusCodes }) => statusCodes === 401)) {
    report('unauthorized', `${name} takes a secret but declares no 401`);
  }
}

/** Every answer with a body is shown: by an example of the operation, or of the body's model. */
function checkExamples(program, operation, responses, report) {
  const shown = new Set();
  for (const { returnType } of getOpExamples(program, operation)) {
    const status = returnType?.properties.get('statusCode')?.value;
    if (returnType) shown.add(status === undefined ? 200 : status.value.asNumber());
  }
  for (const { statusCodes, responses: contents } of responses) {
    for (const { body } of contents) {
      if (!body || shown.has(statusCodes)) continue;
      if (body.type.kind === 'Model' && getExamples(program, body.type).length > 0) continue;
      report('example', `${operation.name} shows no example of ${statusCodes}`);
    }
  }
  const hasBody = responses.some(
    ({ statusCodes, responses: contents }) => statusCodes === 200 && contents.some(({ body }) => body),
  );
  if (hasBody && !getReturnsDoc(program, operation)) {
    report('returns-doc', `${operation.name} needs a @returnsDoc`);
  }
}

function checkModel(program, model) {
  if (!model.name || model.templateMapper) return;
  wantDoc(program, model, model.properties.values());
}

function wantDoc(program, type, parts = []) {
  for (const part of [type, ...parts]) {
    if (part.name === 'statusCode' || part.name === 'contentType' || part.name === 'body') continue;
    if (!getDoc(program, part)) reportError(program, 'doc', `${String(part.name)} needs a doc comment`, part);
  }
}

function reportError(program, code, message, target) {
  program.reportDiagnostic({ code: `task-gateway/${code}`, severity: 'error', message, target });
}
