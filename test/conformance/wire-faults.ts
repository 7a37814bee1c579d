/**
 * The faults that can be planted on the wire. Each is a line that `planted-faults.ts` understands, made from
 * the published document: from its operations, their parameters, fields, statuses, headers and streams, and
 * from pushes.
 */
import { DOCUMENT, OPERATIONS, resolve } from './documented.ts';
import { type Fields, isFields, listOf } from './findings.ts';

export type Faults = {
  /** The faults that the kit must find: those of everything documented. */
  readonly stated: readonly string[];
  /** Further faults by which a check may be seen to fail. */
  readonly more: readonly string[];
};

/** What the guide serves besides the operations. */
const PAGES = [
  ...['/', '/livez', '/readyz', '/metrics', '/docs', '/openapi.json', '/openapi.yaml', '/openapi.3.2.json'],
  ...['/openapi.admin.json', '/openapi.agent.json'],
];
/** What the guide says of headers that stand at no operation. */
const GUIDE_HEADERS = ['content-type', 'cache-control', 'allow', 'access-control-allow-origin'];
const REFUSALS = [400, 401, 403, 404, 405, 409, 413, 415, 422, 429, 431];
const OTHER_PATH = 'other';

/** Returns which operation or page a call is. */
export function nameCall(method: string, path: string): string {
  const known = OPERATIONS.find(({ pattern }) => pattern.test(`${method} ${path}`));
  return known?.call ?? `${method} ${PAGES.includes(path) ? path : OTHER_PATH}`;
}

/** Lists the fields of a schema with their own schemas, such as `tasks[].status`. */
function listFields(
  schema: unknown,
  path = '',
  within: readonly unknown[] = [],
): readonly (readonly [string, Fields])[] {
  const resolved = resolve(schema);
  if (within.includes(resolved)) return [];
  const inner = [...within, resolved];
  const parts = [resolved.anyOf, resolved.oneOf, resolved.allOf].flatMap(listOf);
  const fields = Object.entries(isFields(resolved.properties) ? resolved.properties : {});
  return [
    ...parts.flatMap((part) => listFields(part, path, inner)),
    ...(isFields(resolved.items) ? listFields(resolved.items, `${path}[]`, inner) : []),
    ...fields.flatMap(([name, field]): (readonly [string, Fields])[] => {
      const own = path === '' ? name : `${path}.${name}`;
      return [[own, resolve(field)], ...listFields(field, own, inner)];
    }),
  ];
}

/** Lists the values that a field's schema names, as JSON. */
function listValues(schema: Fields): readonly string[] {
  const parts = [schema, ...[schema.anyOf, schema.oneOf].flatMap(listOf).map(resolve)];
  const values = parts.flatMap(({ enum: named }) => (Array.isArray(named) ? named : []));
  return values.length > 1 ? values.map((value) => JSON.stringify(value)) : [];
}

/** Lists the faults of the fields that are sent at a place. */
function ofFields(schema: unknown, place: string): Faults {
  const fields = [...new Map(listFields(schema))];
  return {
    stated: fields.flatMap(([name]) => [`drop ${name} of ${place}`, `change ${name} of ${place}`]),
    more: fields.flatMap(([name, field]) => [
      `retype ${name} of ${place}`,
      ...listValues(field).map((value) => `change ${name} ${value} of ${place}`),
    ]),
  };
}

const ofHeaders = (names: readonly string[], place: string, ...verbs: readonly string[]): readonly string[] =>
  names.flatMap((name) =>
    (verbs.length > 0 ? verbs : ['drop', 'change']).map(
      (verb) => `${verb} header ${name.toLowerCase()} of ${place}`,
    ),
  );

function joinFaults(all: readonly Faults[]): Faults {
  return {
    stated: [...new Set(all.flatMap(({ stated }) => stated))],
    more: [...new Set(all.flatMap(({ more }) => more))],
  };
}

/** Turns a success into another success, and a refusal into a status that no operation has. */
function changeStatus(status: number): number {
  if (status >= 400) return 418;
  return status === 200 ? 202 : 200;
}

function ofResponses(call: string, responses: Fields): Faults {
  return joinFaults(
    Object.entries(responses)
      .filter(([status]) => /^\d+$/.test(status))
      .map(([status, response]) => {
        const place = `${call} ${status}`;
        const { headers = {}, content = {} } = resolve(response);
        const schema = (content as Record<string, Fields>)['application/json']?.schema;
        const isProblem = Number(status) >= 400;
        const fields = schema && !isProblem ? ofFields(schema, place) : { stated: [], more: [] };
        const problem = isProblem ? [`change code of ${place}`, `drop errors of ${place}`] : [];
        return {
          stated: [
            `status → ${changeStatus(Number(status))} of ${place}`,
            ...(isProblem ? [] : ofHeaders(Object.keys(headers as Fields), place, 'drop')),
            ...fields.stated,
          ],
          more: [...problem, ...fields.more, ...ofHeaders(GUIDE_HEADERS, place, 'drop')],
        };
      }),
  );
}

function ofStream(call: string, responses: Fields): Faults {
  const { content = {} } = resolve(responses['200']);
  const schema = (content as Record<string, Fields>)['text/event-stream']?.schema;
  if (!schema) return { stated: [], more: [] };
  const place = `frames ${call}`;
  const { contentSchema } = resolve(schema);
  const { stated, more } = ofFields(contentSchema, place);
  const names = [...new Map(listFields(contentSchema)).keys()].filter((name) => !/[.[]/.test(name));
  return {
    stated: [
      ...['drop', 'repeat', 'swap', 'delay', 'split', 'end'].map((verb) => `${verb} ${place}`),
      ...['drop', 'change'].flatMap((verb) => [
        `${verb} line id of ${place}`,
        `${verb} line retry of ${place}`,
      ]),
      `drop line comment of ${place}`,
      `add line event of ${place}`,
      ...stated,
    ],
    more: [...more, ...names.map((name) => `drop those with ${name} of ${place}`)],
  };
}

function ofRequest(call: string, { parameters, requestBody }: Fields): Faults {
  const place = `request ${call}`;
  const all = listOf(parameters).map(resolve);
  const query = all.filter((one) => one.in === 'query').map(({ name }) => `parameter ${name}`);
  const headers = all.filter((one) => one.in === 'header').map(({ name }) => `header ${name}`.toLowerCase());
  const { content = {} } = requestBody ? resolve(requestBody) : {};
  const schema = (content as Record<string, Fields>)['application/json']?.schema;
  const fields = schema ? [...new Map(listFields(schema)).keys()] : [];
  const named = [...query, ...headers, ...fields];
  return {
    stated: named.map((name) => `drop ${name} of ${place}`),
    more: [...fields.map((name) => `change ${name} of ${place}`), `repeat response ${call}`],
  };
}

function ofPushes(): Faults {
  const { post } = (DOCUMENT.webhooks as Record<string, Record<string, Fields>>).pushTask as Record<
    string,
    Fields
  >;
  const { parameters, requestBody, responses } = post as Fields;
  const { content } = resolve(requestBody);
  const { stated, more } = ofFields((content as Record<string, Fields>)['application/json']?.schema, 'push');
  const replies = Object.keys(responses as Fields).filter((status) => /^\d+$/.test(status));
  return {
    stated: [
      'drop push',
      'repeat push',
      ...ofHeaders(
        listOf(parameters).map(({ name }) => String(name)),
        'push',
      ),
      ...stated,
      ...replies.flatMap((status) => [
        `status → ${Number(status) < 300 || status === '409' ? 404 : 202} of reply ${status}`,
      ]),
    ],
    more: [
      ...more,
      ...[...replies, '302', '404', '500'].flatMap((status) => [
        `cut reply ${status}`,
        ...[202, 404, 410].map((other) => `status → ${other} of reply ${status}`),
        `drop header retry-after of reply ${status}`,
      ]),
    ],
  };
}

/** Lists the faults of the problems of all operations, and of what the guide says of every response. */
function ofProblems(): Faults {
  const places = REFUSALS.map((status) => `every ${status}`);
  const problem = (DOCUMENT.components as Record<string, Fields>).schemas as Fields;
  return joinFaults([
    ofFields(problem.ProblemDetails, 'every problem'),
    {
      stated: [
        ...ofHeaders(['task-gateway-version'], 'every 200'),
        ...ofHeaders(['task-gateway-version'], 'every problem'),
        ...ofHeaders(['www-authenticate'], 'every 401'),
        ...ofHeaders(['retry-after'], 'every 429'),
      ],
      more: places.flatMap((place) => [
        `status → 418 of ${place}`,
        ...ofHeaders([...GUIDE_HEADERS, 'task-gateway-version'], place),
      ]),
    },
  ]);
}

/** Lists the faults of the pages besides the operations. */
function ofPages(): Faults {
  const calls = [...PAGES, OTHER_PATH].flatMap((path) => [`GET ${path}`, `OPTIONS ${path}`]);
  return {
    stated: [],
    more: calls.flatMap((call) =>
      ['200', '204', '304', '404', '405'].flatMap((status) => [
        `drop body of ${call} ${status}`,
        `status → ${changeStatus(Number(status))} of ${call} ${status}`,
        ...ofHeaders(GUIDE_HEADERS, `${call} ${status}`, 'drop'),
      ]),
    ),
  };
}

/** Lists all faults, in the order of the document. */
export function listFaults(): Faults {
  return joinFaults([
    ...OPERATIONS.flatMap(({ call, responses, ...operation }) => [
      ofResponses(call, responses),
      ofStream(call, responses),
      ofRequest(call, operation),
    ]),
    ofPushes(),
    ofProblems(),
    ofPages(),
  ]);
}
