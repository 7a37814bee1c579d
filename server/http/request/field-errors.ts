/** The errors of the compiled validators as callers read them: one for each place, and what to send there. */
import type { ErrorObject } from 'ajv';
import type { FieldError } from '../problems.ts';
import { toPointer } from './json-limits.ts';
import { describeSchema, findSchemaAt, listNames, type Schema } from './schema-words.ts';

/** A parameter as the document declares it. */
export type Parameter = {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly schema: Schema;
};

type DescribeError = (error: ErrorObject) => FieldError;

/** So many unknown names are reported, where a schema allows none. */
const UNKNOWN_NAMES_MAX = 20;
/** As many places are reported: a small body may have tens of thousands that are wrong. */
const PLACES_MAX = 100;

/** One entry for each place. An outer place is left out when a place inside it has an entry. */
export function mergeErrors(
  errors: readonly ErrorObject[],
  describeError: DescribeError,
): readonly FieldError[] {
  const byPointer = new Map<string, FieldError>();
  let unknown = 0;
  for (const error of errors) {
    if (byPointer.size === PLACES_MAX) break;
    if (error.keyword === UNKNOWN) unknown += 1;
    if (error.keyword === UNKNOWN && unknown > UNKNOWN_NAMES_MAX) continue;
    const described = describeError(error);
    if (!byPointer.has(described.pointer)) byPointer.set(described.pointer, described);
  }
  const outer = new Set([...byPointer.keys()].flatMap(listOuter));
  return [...byPointer.values()].filter(({ pointer }) => !outer.has(pointer));
}

/** The pointers of all places around a place. */
function listOuter(pointer: string): readonly string[] {
  return [...pointer.matchAll(/\//g)].map(({ index }) => pointer.slice(0, index));
}

/**
 * Describes an error of the compiled validators: its place in what the caller sent, and what to send there.
 */
export function createErrorDescriber(
  parameters: readonly Parameter[],
  bodySchema: Schema | undefined,
): DescribeError {
  const byName = new Map(parameters.map((parameter) => [parameter.name.toLowerCase(), parameter]));
  return ({ instancePath, keyword, params }) => {
    const [part, ...inside] = instancePath.split('/').slice(1).map(unescapeToken);
    const isMissing = keyword === 'required';
    if (keyword === UNKNOWN) return describeUnknown(inside, String(params.additionalProperty), bodySchema);
    const path = isMissing ? [...inside, String(params.missingProperty)] : inside;
    const parameter = part === 'requestBody' ? undefined : byName.get(String(path[0]).toLowerCase());
    const itemPath = path.slice(1);
    const schema = parameter ? findSchemaAt(parameter.schema, itemPath) : findSchemaAt(bodySchema, path);
    const pointer = toPointer(parameter ? [parameter.name, ...itemPath] : path);
    const expected = schema ? describeSchema(schema) : 'what the document says';
    if (isMissing) return { pointer, detail: `is missing; send ${expected}` };
    if (keyword === 'format' && params.format === 'well-formed') {
      return { pointer, detail: 'must be well-formed Unicode, without lone surrogates' };
    }
    const bound = keyword === 'format' && params.format === 'int64' ? ', and below 2^63' : '';
    return { pointer, detail: `must be ${expected}${bound}` };
  };
}

/** The keyword of a schema that allows no other names than its own. */
const UNKNOWN = 'additionalProperties';

function describeUnknown(path: readonly string[], name: string, bodySchema: Schema | undefined): FieldError {
  const known = listNames(findSchemaAt(bodySchema, path)).join(', ');
  return { pointer: toPointer([...path, name]), detail: `is not known here; send any of ${known}` };
}

export function unescapeToken(token: string): string {
  return token.replaceAll('~1', '/').replaceAll('~0', '~');
}
