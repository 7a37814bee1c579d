/**
 * The rules of an operation that no schema can state. They are checked together with the schema, so that one
 * response names everything that is wrong.
 */
import { readCursor } from '../../domain/cursor.ts';
import { findSchemaErrors } from '../../domain/question.ts';
import { parseEndpoint } from '../../net/endpoint.ts';
import type { FieldError } from '../problems.ts';
import type { OperationId, RequestParts } from './contract.ts';
import { isObject } from './secrets.ts';

type FieldCheck = (parts: RequestParts) => readonly FieldError[];

const FIELD_CHECKS: Partial<Record<OperationId, FieldCheck>> = {
  registerAgent: ({ requestBody }) => [
    ...validateEndpoint(readText(requestBody, 'endpoint')),
    ...validateAgentId(readText(requestBody, 'agent_id')),
  ],
  writeOutput: ({ requestBody }) => validatePieces(readField(requestBody, 'pieces')),
  listTasks: ({ query }) => validateCursor(readText(query, 'cursor')),
  listAgents: ({ query }) => validatePage(query),
  cancelTasks: ({ requestBody }) => [
    ...validateSelection(requestBody),
    ...validateCursor(readText(requestBody, 'cursor')),
  ],
};

/** Returns what is wrong with the fields of a request beside its schema; empty when nothing is. */
export function validateFields(operationId: OperationId, parts: RequestParts): readonly FieldError[] {
  return FIELD_CHECKS[operationId]?.(parts) ?? [];
}

/** In a URL these two segments mean a folder, however they are escaped: no path could name the agent. */
function validateAgentId(agent_id: string | undefined): readonly FieldError[] {
  if (agent_id !== '.' && agent_id !== '..') return [];
  return [{ pointer: '/agent_id', detail: 'must not be `.` or `..`, which no URL can contain as a name' }];
}

/** An absolute http(s) URL without credentials, as WHATWG parses it, or `pull`. */
function validateEndpoint(endpoint: string | undefined): readonly FieldError[] {
  if (endpoint === undefined || endpoint === 'pull') return [];
  if (typeof parseEndpoint(endpoint) !== 'string') return [];
  const detail = 'must be an absolute http or https URL without credentials, or `pull`';
  return [{ pointer: '/endpoint', detail }];
}

/** Exactly one of `filter` and `request_ids`: with both or neither it is unclear what is meant. */
function validateSelection(body: unknown): readonly FieldError[] {
  if (!isObject(body)) return [];
  const [filter = null, ids = null] = [readField(body, 'filter'), readField(body, 'request_ids')];
  // Anything else that is not null is wrong by itself.
  const hasFilter = isObject(filter);
  const isUnclear = hasFilter ? ids !== null : filter === null && ids === null;
  if (!isUnclear) return [];
  const detail = hasFilter
    ? 'must be left out beside `filter`: send exactly one of them'
    : 'is missing; send an array of ids, or `filter` instead';
  return [{ pointer: '/request_ids', detail }];
}

const PIECE_KEYS = ['text', 'data', 'question'];

/** Exactly one of the keys: the piece of a later version has none of them, and would be lost. */
function validatePieces(pieces: unknown): readonly FieldError[] {
  if (!Array.isArray(pieces)) return [];
  return pieces.flatMap((piece, index): readonly FieldError[] => {
    if (!isObject(piece)) return [];
    const pointer = `/pieces/${index}`;
    if (PIECE_KEYS.filter((key) => Object.hasOwn(piece, key)).length !== 1) {
      return [{ pointer, detail: 'must have exactly one of `text`, `data` and `question`' }];
    }
    const errors = findSchemaErrors(readField(piece.question, 'schema'));
    return errors.map((error) => ({ ...error, pointer: `${pointer}/question/schema${error.pointer}` }));
  });
}

function validateCursor(cursor: string | undefined): readonly FieldError[] {
  if (cursor === undefined || readCursor(cursor) !== null) return [];
  return [{ pointer: '/cursor', detail: 'must be the `next_cursor` of the previous page' }];
}

/** A cursor needs a limit: without one the list is whole, and the cursor would be ignored. */
function validatePage(query: unknown): readonly FieldError[] {
  const cursor = readText(query, 'cursor');
  const wrong = validateCursor(cursor);
  if (wrong.length > 0 || cursor === undefined || readField(query, 'limit') !== undefined) return wrong;
  return [{ pointer: '/limit', detail: 'is missing; send with `cursor` how many the next page may hold' }];
}

/** A field's text; undefined when it is absent or no text, which the schema refuses. */
function readText(values: unknown, name: string): string | undefined {
  const value = readField(values, name);
  return typeof value === 'string' ? value : undefined;
}

function readField(values: unknown, name: string): unknown {
  const hasField = typeof values === 'object' && values !== null && Object.hasOwn(values, name);
  return hasField ? Reflect.get(values, name) : undefined;
}
