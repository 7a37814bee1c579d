/**
 * Possible changes of the published document: those that break its users and those that don't. They are
 * applied to the document as it is, to show that the check for breaking changes finds the first kind and only
 * that.
 */
import { isJson, type Json, requireObject } from '../../spec/document.ts';

/** A change, made in place. */
export type Change = { readonly title: string; apply(document: Json): void };

/** The object at a path; see `requireObject`. */
type At = (...path: readonly string[]) => Json;

function change(title: string, make: (at: At) => void): Change {
  return { title, apply: (document) => make((...path) => requireObject(document, ...path)) };
}

const submit = ['paths', '/api/cli/tasks', 'post'] as const;
const get = ['paths', '/api/cli/tasks/{request_id}', 'get'] as const;
const schema = (name: string, ...path: readonly string[]) =>
  ['components', 'schemas', name, ...path] as const;
const field = (name: string, property: string) => schema(name, 'properties', property);

function listAt(at: At, key: string, ...path: readonly string[]): unknown[] {
  const list = at(...path)[key];
  if (!Array.isArray(list)) throw new Error(`There is no list at ${path.join(' > ')} > ${key}.`);
  return list;
}

function dropField(at: At, name: string, property: string): void {
  delete at(...schema(name, 'properties'))[property];
  const required = listAt(at, 'required', ...schema(name));
  at(...schema(name)).required = required.filter((one) => one !== property);
}

/** Each of these breaks a user. */
export const breakingChanges: readonly Change[] = [
  change('an operation is removed', (at) => {
    delete at('paths')['/api/cli/tasks/{request_id}/cancel'];
  }),
  change('an operation moves to another path', (at) => {
    const paths = at('paths');
    paths['/api/v2/cli/tasks'] = paths['/api/cli/tasks'];
    delete paths['/api/cli/tasks'];
  }),
  change('an operation gets another name', (at) => {
    at(...submit).operationId = 'createTask';
  }),
  change('a field of a response is removed', (at) => dropField(at, 'TaskInfo', 'progress')),
  change('a field of a response may be missing', (at) => {
    const required = listAt(at, 'required', ...schema('TaskInfo'));
    required.splice(required.indexOf('result'), 1);
  }),
  change('a field of a response may be null', (at) => {
    at(...schema('CancelReceipt', 'properties')).request_id = { type: ['string', 'null'] };
  }),
  change('a field of a response has another type', (at) => {
    at(...schema('TaskInfo', 'properties')).create_time = { type: 'string' };
  }),
  change('a field of all errors is removed', (at) => dropField(at, 'ProblemDetails', 'detail')),
  change('an error may lack what is wrong', (at) => {
    const required = listAt(at, 'required', ...schema('ValidationFailed'));
    required.splice(required.indexOf('errors'), 1);
  }),
  change('a parameter that operations share takes shorter texts', (at) => {
    at('components', 'parameters', 'request_id', 'schema').maxLength = 8;
  }),
  change('a field of an event is removed', (at) => dropField(at, 'TaskDone', 'error_info')),
  change('a request needs a new field', (at) => {
    at(...schema('TaskSubmission', 'properties')).priority = { type: 'integer' };
    listAt(at, 'required', ...schema('TaskSubmission')).push('priority');
  }),
  change('an optional field of a request becomes required', (at) => {
    listAt(at, 'required', ...schema('TaskSubmission')).push('cli_session_id');
  }),
  change('a field of a request takes a narrower type', (at) => {
    at(...field('TaskSubmission', 'timeout')).type = 'integer';
  }),
  change('a value a request may have is removed', (at) => {
    const values = listAt(at, 'enum', ...field('TaskReport', 'status'));
    values.splice(values.indexOf('running'), 1);
  }),
  change('a text of a request must be shorter', (at) => {
    at(...schema('Name')).maxLength = 64;
  }),
  change('a number of a request has a lower maximum', (at) => {
    at(...field('TaskSubmission', 'timeout')).maximum = 3600;
  }),
  change('a request needs a new header', (at) => {
    listAt(at, 'parameters', ...submit).push({
      name: 'X-Client',
      in: 'header',
      required: true,
      schema: { type: 'string' },
    });
  }),
  change('a query parameter is removed', (at) => {
    const parameters = listAt(at, 'parameters', ...get);
    const index = parameters.findIndex((one) => isJson(one) && one.name === 'wait');
    parameters.splice(index, 1);
  }),
  change('a way to send the secret is removed', (at) => {
    const ways = listAt(at, 'security', ...get);
    ways.splice(
      ways.findIndex((one) => isJson(one) && 'HeaderAuth' in one),
      1,
    );
  }),
  change('a success has another status', (at) => {
    const responses = at(...submit, 'responses');
    responses['201'] = responses['200'];
    delete responses['200'];
  }),
  change('a response has another media type', (at) => {
    const content = at(...get, 'responses', '200', 'content');
    content['application/vnd.task+json'] = content['application/json'];
    delete content['application/json'];
  }),
  change('tasks are no longer pushed', (at) => {
    delete at('webhooks').pushTask;
  }),
  change('a push lacks a header', (at) => {
    listAt(at, 'parameters', 'webhooks', 'pushTask', 'post').shift();
  }),
];

/** Each of these is safe: the contract grows. */
export const safeChanges: readonly Change[] = [
  change('an operation is added', (at) => {
    at('paths')['/api/admin/sessions'] = {
      get: { ...at('paths', '/api/admin/agents', 'get'), operationId: 'listSessions' },
    };
  }),
  change('a request may have a new field', (at) => {
    at(...schema('TaskSubmission', 'properties')).priority = { type: 'integer' };
  }),
  change('a call may have a new query parameter', (at) => {
    listAt(at, 'parameters', ...get).push({ name: 'fields', in: 'query', schema: { type: 'string' } });
  }),
  change('a response has a new field', (at) => {
    at(...schema('Agent', 'properties')).version = { type: 'string' };
    listAt(at, 'required', ...schema('Agent')).push('version');
  }),
  change('an error may have a new code', (at) => {
    const { anyOf } = at(...field('TaskTerminal', 'code'));
    if (Array.isArray(anyOf)) anyOf[0].enum.push('task_locked');
  }),
  change('a text of a request may be longer', (at) => {
    at(...field('AgentRegistration', 'endpoint')).maxLength = 4096;
  }),
  change('a request may send a new value', (at) => {
    listAt(at, 'enum', ...field('TaskReport', 'status')).push('rejected');
  }),
  change('a push has a new header', (at) => {
    const header = { name: 'task-attempt', in: 'header', required: true, schema: { type: 'string' } };
    listAt(at, 'parameters', 'webhooks', 'pushTask', 'post').push(header);
  }),
  change('a description is reworded', (at) => {
    at(...submit).description = 'Submits a task.';
  }),
];
