/**
 * What the second gateway takes from the published document as it is: its operations, their parameters,
 * where their secrets stand, and the schemas of their bodies.
 */
import { readFileSync } from 'node:fs';
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

const POINTER_CHARS_MAX = 1_024;

type Schema = { readonly type?: string };

type Parameter = {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema: Schema | { readonly $ref: string };
};

export type Operation = {
  readonly operationId: string;
  readonly method: string;
  readonly pattern: RegExp;
  readonly parameters: readonly Parameter[];
  readonly hasBody: boolean;
  /** The names of the secrets that are alternatives. */
  readonly secrets: readonly string[];
  readonly isSecretOptional: boolean;
  /** Where values are wrong, as JSON Pointers. */
  findWrong(
    body: unknown,
    query: URLSearchParams,
    header: (name: string) => string | undefined,
  ): readonly string[];
};

type Declared = {
  readonly operationId: string;
  readonly parameters?: readonly (Parameter | { readonly $ref: string })[];
  readonly requestBody?: unknown;
  readonly security: readonly Readonly<Record<string, unknown>>[];
};
type Document = {
  readonly info: { readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Declared>>>>;
  readonly components: {
    readonly parameters: Readonly<Record<string, Parameter>>;
    readonly schemas: Readonly<Record<string, Schema>>;
  };
};

/** Reads the whole document, of which a gateway publishes two parts. */
export function readContract(): { readonly version: string; readonly operations: readonly Operation[] } {
  const document: Document = JSON.parse(
    readFileSync(new URL(import.meta.resolve('@task-gateway/contract/openapi.whole.json')), 'utf8'),
  );
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addFormat('int64', { type: 'number', validate: (value) => Math.abs(value) < 2 ** 63 });
  ajv.addSchema({ $id: 'document', ...document });
  const compile = (...path: string[]) =>
    ajv.compile({
      $ref: `document#/${path.map((part) => encodeURIComponent(escapeName(part))).join('/')}`,
    });
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, declared]): Operation => {
      const parameters = (declared.parameters ?? []).map((one) =>
        '$ref' in one ? (document.components.parameters[nameOf(one)] as Parameter) : one,
      );
      const isBodyRight = declared.requestBody
        ? compile('paths', path, method, 'requestBody', 'content', 'application/json', 'schema')
        : null;
      const checks = parameters.map((one) => ({
        ...one,
        type: ('$ref' in one.schema ? document.components.schemas[nameOf(one.schema)] : one.schema)?.type,
        isRight: ajv.compile(JSON.parse(JSON.stringify(one.schema).replaceAll('"#/', '"document#/'))),
      }));
      return {
        operationId: declared.operationId,
        method: method.toUpperCase(),
        pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '([^/]+)')}$`),
        parameters,
        hasBody: isBodyRight !== null,
        secrets: declared.security.flatMap((one) => Object.keys(one)),
        isSecretOptional: declared.security.some((one) => Object.keys(one).length === 0),
        findWrong(body, query, header) {
          const found = checks.flatMap(({ name, in: where, required, type, isRight }) => {
            if (where === 'path') return [];
            const sent =
              where === 'query' ? query.getAll(name) : [header(name)].filter((one) => one !== undefined);
            if (sent.length === 0) return required ? [`/${name}`] : [];
            if (sent.length !== 1) return [`/${name}`];
            if (isRight(readText(sent[0] ?? '', type))) return [];
            return (isRight.errors ?? []).map(({ instancePath }) => `/${name}${instancePath}`);
          });
          const isWrong = isBodyRight !== null && !isBodyRight(body);
          const wrong = isWrong ? (isBodyRight.errors ?? []).map(toPointer) : [];
          return listPlaces([...found, ...wrong, ...(isBodyRight === null ? [] : findBrokenTexts(body))]);
        },
      };
    }),
  );
  return { version: document.info.version, operations };
}

const nameOf = ({ $ref }: { readonly $ref: string }): string => $ref.split('/').at(-1) ?? '';

/** A parameter as the schema wants it: numbers and booleans as in JSON, the items of a list with commas. */
function readText(text: string, type: string | undefined): unknown {
  if (type === 'array') return text.split(',');
  if (type === 'boolean' && /^(true|false)$/.test(text)) return text === 'true';
  const isNumber =
    (type === 'number' || type === 'integer') && /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text);
  return isNumber && Number.isFinite(Number(text)) ? Number(text) : text;
}

/** Where an error is: at the name that is missing, or that is not allowed. */
export function toPointer({ instancePath, keyword, params }: ErrorObject): string {
  const names: Readonly<Record<string, unknown>> = {
    required: params.missingProperty,
    additionalProperties: params.additionalProperty,
  };
  const place = `${instancePath}/${escapeName(String(names[keyword]))}`;
  return keyword in names && place.length <= POINTER_CHARS_MAX ? place : instancePath;
}

/** Each place once. Where an item is wrong, the list is not named too. */
export function listPlaces(pointers: readonly string[]): readonly string[] {
  return [...new Set(pointers.filter((one) => !pointers.some((other) => other.startsWith(`${one}/`))))];
}

/** A name as a part of a pointer. */
export const escapeName = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

/** Texts that are not well-formed Unicode, except in what passes through; and numbers out of range. */
function findBrokenTexts(value: unknown, pointer = ''): string[] {
  if (typeof value === 'string')
    return value.isWellFormed() || /^\/(payload|result)\//.test(pointer) ? [] : [pointer];
  if (typeof value === 'number') return Number.isFinite(value) ? [] : [pointer];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    findBrokenTexts(inner, `${pointer}/${escapeName(key)}`),
  );
}
