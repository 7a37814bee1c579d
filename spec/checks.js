/**
 * The rules for the TypeSpec sources, checked each time they are compiled: every operation has its own name
 * as its operationId, a summary, a description and examples; a call that takes a secret declares 401;
 * everything that is published has a description.
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

/** The compiler calls this after it has read all sources. */
export function $onValidate(program) {
  const errors = [];
  const [services] = getAllHttpServices(program);
  for (const { namespace, operations } of services) {
    for (const operation of operations) errors.push(...validateOperation(program, operation));
    navigateTypesInNamespace(namespace, {
      model: (model) => errors.push(...validateModel(program, model)),
      enum: (type) => errors.push(...validateDocs(program, [type, ...type.members.values()])),
      union: (union) => errors.push(...(union.name ? validateDocs(program, [union]) : [])),
      scalar: (scalar) => errors.push(...validateDocs(program, [scalar])),
    });
  }
  for (const { code, message, target } of errors) {
    program.reportDiagnostic({ code: `task-gateway/${code}`, severity: 'error', message, target });
  }
}

function validateOperation(program, httpOperation) {
  const { operation, parameters, responses } = httpOperation;
  const { name } = operation;
  const errors = [];
  const add = (code, message) => errors.push({ code, message, target: operation });
  if (getOperationId(program, operation) !== name)
    add('operation-id', `${name} needs @operationId("${name}")`);
  if (!getSummary(program, operation)) add('summary', `${name} needs a @summary`);
  if (!getDoc(program, operation)) add('doc', `${name} needs a doc comment`);
  if (hasSuccessBody(responses) && !getReturnsDoc(program, operation)) {
    add('returns-doc', `${name} needs a @returnsDoc`);
  }
  if (takesSecret(httpOperation) && !responses.some(({ statusCodes }) => statusCodes === 401)) {
    add('unauthorized', `${name} takes a secret but declares no 401`);
  }
  for (const status of findStatusesWithoutExample(program, httpOperation)) {
    add('example', `${name} shows no example of ${status}`);
  }
  const params = parameters.parameters.map(({ param }) => param);
  return [...errors, ...validateDocs(program, params)];
}

function takesSecret({ parameters, authentication }) {
  return (
    authentication?.options.some(({ schemes }) => schemes.some(({ type }) => type !== 'noAuth')) ||
    parameters.body?.type.properties?.has('auth')
  );
}

function hasSuccessBody(responses) {
  return responses.some(
    ({ statusCodes, responses: contents }) => statusCodes === 200 && contents.some(({ body }) => body),
  );
}

/** A response with a body needs an example: one of the operation, or one of the body's model. */
function findStatusesWithoutExample(program, { operation, responses }) {
  const shown = new Set();
  for (const { returnType } of getOpExamples(program, operation)) {
    const status = returnType?.properties.get('statusCode')?.value;
    if (returnType) shown.add(status === undefined ? 200 : status.value.asNumber());
  }
  return responses.flatMap(({ statusCodes, responses: contents }) => {
    const bodies = shown.has(statusCodes) ? [] : contents.flatMap(({ body }) => body ?? []);
    return bodies.filter(({ type }) => !hasExample(program, type)).map(() => statusCodes);
  });
}

function hasExample(program, type) {
  return type.kind === 'Model' && getExamples(program, type).length > 0;
}

function validateModel(program, model) {
  if (!model.name || model.templateMapper) return [];
  return validateDocs(program, [model, ...model.properties.values()]);
}

/** Properties of a response that are never published as properties of a schema. */
const undescribed = new Set(['statusCode', 'contentType', 'body']);

function validateDocs(program, types) {
  return types
    .filter((type) => !undescribed.has(type.name) && !getDoc(program, type))
    .map((type) => ({ code: 'doc', message: `${String(type.name)} needs a doc comment`, target: type }));
}
