/**
 * The API: from a request to its answer, all in plain values. It knows neither `node:http` nor Koa, and
 * decides everything that a caller can see: status, headers in their order, CORS, HEAD, OPTIONS, 404 and 405.
 *
 *   path ──► its methods ──► operation ──► checks ──► gateway ──► reply or stream
 *     ╰─ 404      ╰─ 405, OPTIONS             ╰───────────┴──► problem
 */
import { type Answer, type Answers, type ApiRequest, answerMethod } from './answers.ts';
import type { ServedOperation } from './serve-operation.ts';

/** Every path that begins so is the API's. */
export const API_ROOT = '/api/';

/** Serves a request. Never rejects. */
export type Serve = (request: ApiRequest) => Promise<Answer>;

/** A path and the operations that it serves. */
type Resource = {
  readonly template: string;
  /** In the order of the document; HEAD stands before GET. */
  readonly methods: Map<string, ServedOperation>;
};

/** A resource, and the parameters of the path that led to it. */
type Found = { readonly resource: Resource; readonly params: Readonly<Record<string, string>> };

/** Creates it from the operations of the document. */
export function createServe(answers: Answers, operations: readonly ServedOperation[]): Serve {
  const find = createFinder(operations);
  return (request) => {
    const { method } = request;
    let first = answers.everywhere;
    let template: string | undefined;
    try {
      first = answers.begin(request.headers, false);
      const found = find(request.path);
      template = found?.resource.template;
      const operation = found?.resource.methods.get(method);
      if (found && operation) return operation.answer(request, found.params, first);
      const served = [...(found?.resource.methods.keys() ?? [])];
      return Promise.resolve(answerMethod({ operation: undefined, template, method, first }, served));
    } catch (error) {
      return Promise.resolve(answers.fail({ operation: undefined, template, method, first }, error));
    }
  };
}

/** A path with one parameter: `/api/cli/tasks/`, `request_id`, `/cancel`. */
const WITH_PARAMETER = /^([^:]*):(\w+)([^:]*)$/;
const NO_PARAMS = {};

/** Creates the finder of resources; paths are compared as they are written, slash by slash. */
function createFinder(operations: readonly ServedOperation[]): (path: string) => Found | undefined {
  const resources = new Map<string, Resource>();
  for (const operation of operations) {
    const { path: template, method } = operation;
    const resource = resources.get(template) ?? { template, methods: new Map() };
    resources.set(template, resource);
    if (method === 'GET') resource.methods.set('HEAD', operation);
    resource.methods.set(method, operation);
  }
  const fixed = new Map<string, Found>();
  const named: { start: string; name: string; end: string; resource: Resource }[] = [];
  for (const [template, resource] of resources) {
    const [, start, name, end = ''] = WITH_PARAMETER.exec(template) ?? [];
    if (start !== undefined && name !== undefined) named.push({ start, name, end, resource });
    else fixed.set(template, { resource, params: NO_PARAMS });
  }

  return (path) => {
    const found = fixed.get(path);
    if (found) return found;
    for (const { start, name, end, resource } of named) {
      if (!path.startsWith(start) || !path.endsWith(end)) continue;
      const value = path.slice(start.length, path.length - end.length);
      if (value !== '' && !value.includes('/')) return { resource, params: { [name]: decode(value) } };
    }
    return undefined;
  };
}

/** If a text can't be decoded, it stays as it is: no task or agent has such a name. */
function decode(text: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
