/**
 * Moves to `components` what several operations have in common: error responses, and parameters and headers
 * with the same description. The emitter writes each of them out at every operation.
 */
import { isJson, type Json, listOperations, requireObject } from './document.ts';

const PROBLEM = 'application/problem+json';

/** Moves the shared parts. Throws if two error responses, or two shared parameters, of one name differ. */
export function shareParts(document: Json): void {
  shareResponses(document);
  addOtherProblem(document);
  shareParameters(document);
  shareHeaders(document);
}

/**
 * Names each error response after the schema of its body. Only the response keeps the text and the
 * examples, which are named by their codes; only `ProblemDetails` keeps the meaning of the fields.
 */
function shareResponses(document: Json): void {
  const schemas = requireObject(document, 'components', 'schemas');
  const shared: Json = {};
  for (const [name, response] of nameProblems(document)) {
    requireSame(name, shared[name] ?? response, response);
    shared[name] = response;
  }
  for (const [name, response] of Object.entries(shared)) {
    const schema = requireObject(schemas, name);
    const { description, examples, ...rest } = schema;
    for (const field of Object.values(requireObject(schema, 'properties'))) {
      if (isJson(field)) delete field.description;
    }
    const content = requireObject(isJson(response) ? response : {}, 'content', PROBLEM);
    content.examples = nameByCode(examples);
    shared[name] = { ...(isJson(response) && response), description };
    schemas[name] = rest;
  }
  requireObject(document, 'components').responses = sortKeys(shared);
}

/** Makes each operation refer to its error responses by name. Returns those responses. */
export function nameProblems(document: Json): readonly (readonly [name: string, response: Json])[] {
  const named: [string, Json][] = [];
  for (const { operation } of listOperations(document)) {
    const responses = requireObject(operation, 'responses');
    for (const [status, response] of Object.entries(responses)) {
      const name = findProblemName(response);
      if (name === undefined || !isJson(response)) continue;
      named.push([name, response]);
      responses[status] = { $ref: `#/components/responses/${name}` };
    }
  }
  return named;
}

/** Adds the response `default` to each operation, for an error that it does not list. */
function addOtherProblem(document: Json): void {
  requireObject(document, 'components', 'responses').OtherProblem = {
    description:
      'Any other error: one that a proxy or the gateway finds before the operation begins (the guide lists them), ' +
      'or one of a later version. Treat it by the class of its status.',
    headers: structuredClone(requireObject(document, 'components', 'responses', 'InternalError').headers),
    content: {
      [PROBLEM]: {
        schema: { $ref: '#/components/schemas/ProblemDetails' },
        examples: {
          headers_too_large: {
            value: {
              type: 'urn:task-gateway:problem:headers_too_large',
              title: 'Headers too large',
              status: 431,
              detail: 'The headers are larger than 16384 bytes.',
              code: 'headers_too_large',
            },
          },
        },
      },
    },
  };
  for (const { operation } of listOperations(document)) {
    requireObject(operation, 'responses').default = { $ref: '#/components/responses/OtherProblem' };
  }
}

/** Finds the name of the schema of an error response; undefined for any other response. */
function findProblemName(response: unknown): string | undefined {
  const content = isJson(response) && isJson(response.content) ? response.content[PROBLEM] : undefined;
  const schema = isJson(content) ? content.schema : undefined;
  return isJson(schema) ? String(schema.$ref).replace('#/components/schemas/', '') : undefined;
}

/** Puts the examples in order: the emitter writes them last first. */
function nameByCode(examples: unknown): Json {
  const values = Array.isArray(examples) ? examples.filter(isJson).reverse() : [];
  if (values.length === 0) throw new Error('An error has no example.');
  return Object.fromEntries(values.map((value) => [String(value.code), { value }]));
}

/** Moves parameters of one name and location with the same description, and keeps all their examples. */
function shareParameters(document: Json): void {
  const byText = new Map<string, Json[]>();
  const lists = [...listOperations(document)].map(({ operation }) => listObjects(operation.parameters));
  for (const parameter of lists.flat()) {
    const { examples: _, ...rest } = parameter;
    const text = JSON.stringify(rest);
    byText.set(text, [...(byText.get(text) ?? []), parameter]);
  }
  const shared: Json = {};
  for (const same of byText.values()) {
    const [first] = same;
    if (first === undefined || same.length === 1) continue;
    const name = String(first.name);
    if (name in shared) throw new Error(`Two parameters that several operations have are called ${name}.`);
    // Of two examples of one name the first counts.
    const examples: Json = Object.assign({}, ...same.map((one) => one.examples).reverse());
    shared[name] = { ...first, ...(Object.keys(examples).length > 0 && { examples }) };
    for (const parameter of same) {
      for (const key of Object.keys(parameter)) delete parameter[key];
      parameter.$ref = `#/components/parameters/${name}`;
    }
  }
  requireObject(document, 'components').parameters = sortKeys(shared);
}

/** Moves headers of responses with the same description. */
function shareHeaders(document: Json): void {
  const components = requireObject(document, 'components');
  const headers = requireObject(document, 'components', 'headers');
  const responses = [
    ...Object.values(requireObject(components, 'responses')),
    ...[...listOperations(document)].flatMap(({ operation }) =>
      Object.values(requireObject(operation, 'responses')),
    ),
  ];
  const holders = responses.flatMap((response) =>
    isJson(response) && isJson(response.headers) ? [response.headers] : [],
  );
  const named = holders.flatMap((holder) => Object.keys(holder));
  for (const name of new Set(named)) {
    if (name in headers || named.filter((one) => one === name).length === 1) continue;
    for (const holder of holders) {
      if (!(name in holder)) continue;
      requireSame(name, headers[name] ?? holder[name], holder[name]);
      headers[name] = holder[name];
      holder[name] = { $ref: `#/components/headers/${name}` };
    }
  }
}

function listObjects(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.filter(isJson) : [];
}

function requireSame(name: string, one: unknown, other: unknown): void {
  if (JSON.stringify(one) !== JSON.stringify(other)) throw new Error(`${name} has two forms that differ.`);
}

function sortKeys(object: Json): Json {
  return Object.fromEntries(Object.entries(object).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
