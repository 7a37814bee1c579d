/**
 * What an operation requires of a field that no schema can say. It is checked together with the schema, so
 * that one response names everything that is wrong.
 */
import { readCursor } from '../../domain/cursor.ts';
import type { FieldError } from '../problems.ts';
import type { OperationId, RequestParts } from './contract.ts';

type FieldCheck = (parts: RequestParts) => readonly FieldError[];

const FIELD_CHECKS: Partial<Record<OperationId, FieldCheck>> = {
  registerAgent: ({ requestBody }) => validateEndpoint(readText(requestBody, 'endpoint')),
  listTasks: ({ query }) => validateCursor(readText(query, 'cursor')),
};

/** Returns what is wrong with the fields of a request beside its schema; empty when nothing is. */
export function validateFields(operationId: OperationId, parts: RequestParts): readonly FieldError[] {
  return FIELD_CHECKS[operationId]?.(parts) ?? [];
}

/** An absolute http(s) URL without credentials, as WHATWG parses it, or `pull`. */
function validateEndpoint(endpoint: string | undefined): readonly FieldError[] {
  if (endpoint === undefined || endpoint === 'pull') return [];
  const url = URL.parse(endpoint);
  const isHttp = url !== null && (url.protocol === 'http:' || url.protocol === 'https:');
  if (isHttp && url.username === '' && url.password === '') return [];
  const detail = 'must be an absolute http or https URL without credentials, or `pull`';
  return [{ pointer: '/endpoint', detail }];
}

function validateCursor(cursor: string | undefined): readonly FieldError[] {
  if (cursor === undefined || readCursor(cursor) !== null) return [];
  return [{ pointer: '/cursor', detail: 'must be the `next_cursor` of the previous page' }];
}

/** A field's text; undefined when it is absent or no text, which the schema refuses. */
function readText(values: unknown, name: string): string | undefined {
  if (typeof values !== 'object' || values === null || !Object.hasOwn(values, name)) return undefined;
  const value: unknown = Reflect.get(values, name);
  return typeof value === 'string' ? value : undefined;
}
