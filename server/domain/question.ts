/**
 * A question of an agent about its task: its shape, the schemas it may have, and the answers that a schema
 * allows. Pure. `asking.ts` says what becomes of the questions of a task. Stored names are frozen.
 */
import { escapeToken, isObject } from './json-value.ts';

/** Limits the JSON of a schema, and that of an answer. */
const JSON_BYTES_MAX = 8_192;
const FIELDS_MAX = 20;
/** In code points. A name becomes part of a JSON Pointer, whose length is limited. */
const NAME_CHARS_MAX = 256;
/** At most this many unknown fields of an answer are reported. */
const UNKNOWN_NAMES_MAX = 20;
/** A pointer in an error has at most 1,024 characters, and those of an answer begin with `/answer`. */
const POINTER_CHARS_MAX = 1_024 - '/answer'.length;

type AnswerField = {
  readonly type: 'string' | 'number' | 'integer' | 'boolean';
  readonly title?: string;
  readonly description?: string;
  readonly default?: string | number | boolean;
  readonly enum?: readonly string[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
};

/** The form of an answer, which is a flat object. */
export type AnswerSchema = {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, AnswerField>>;
  readonly required?: readonly string[];
};

export type NewQuestion = {
  readonly key: string;
  readonly prompt: string;
  readonly schema?: AnswerSchema;
};

/** A question in a write. `at` is the number of its piece among those of its writer. */
export type WrittenQuestion = NewQuestion & { readonly at: number };

/** The content of a question, which the details of its task keep, and the answer once there is one. */
export type QuestionContent = NewQuestion & { readonly answer?: unknown };

/** A question in the state of its task. Times are store time. */
export type TaskQuestion = {
  readonly key: string;
  /**
   * The number of the piece in which the present writer last asked the question; null if another writer asked
   * it.
   */
  readonly at: number | null;
  /** When the question was asked; after a withdrawal, when it was asked again. */
  readonly askedMs: number;
  /** When the question was answered; absent before. */
  readonly answeredMs?: number;
  /** The writer of the question is gone, and no agent waits for an answer. */
  readonly isWithdrawn?: true;
};

/** One mistake in a value: a JSON Pointer to it, below the value, and what to send instead. */
export type ValueError = { readonly pointer: string; readonly detail: string };

export function isOpen({ answeredMs, isWithdrawn }: TaskQuestion): boolean {
  return answeredMs === undefined && !isWithdrawn;
}

/** Keywords that only some types may have, with these types. */
const KEYWORDS: Readonly<Record<string, readonly string[]>> = {
  enum: ['string'],
  minLength: ['string'],
  maxLength: ['string'],
  minimum: ['number', 'integer'],
  maximum: ['number', 'integer'],
};

/**
 * Says what is wrong with a schema beyond its shape. Parts with a wrong shape are skipped: the contract's
 * validation reports those.
 */
export function findSchemaErrors(schema: unknown): readonly ValueError[] {
  if (!isObject(schema) || !isObject(schema.properties)) return [];
  const { properties, required } = schema;
  const errors: ValueError[] = [];
  if (isTooLong(schema)) errors.push({ pointer: '', detail: TOO_LONG });
  if (Object.keys(properties).length > FIELDS_MAX) {
    errors.push({ pointer: '/properties', detail: `must have at most ${FIELDS_MAX} fields` });
  }
  for (const [name, field] of Object.entries(properties)) {
    if (name === '' || countChars(name) > NAME_CHARS_MAX) {
      const detail = `must have names of 1 to ${NAME_CHARS_MAX} characters`;
      errors.push({ pointer: '/properties', detail });
    } else if (isObject(field)) {
      const pointer = `/properties/${escapeToken(name)}`;
      errors.push(...findFieldErrors(field).map((error) => below(pointer, error)));
    }
  }
  for (const [index, name] of (Array.isArray(required) ? required : []).entries()) {
    if (typeof name !== 'string' || Object.hasOwn(properties, name)) continue;
    errors.push({ pointer: `/required/${index}`, detail: 'must be the name of one of the `properties`' });
  }
  return errors;
}

function findFieldErrors(field: Readonly<Record<string, unknown>>): readonly ValueError[] {
  const { type, minLength, maxLength, minimum, maximum } = field;
  const errors: ValueError[] = [];
  for (const [keyword, types] of Object.entries(KEYWORDS)) {
    if (!Object.hasOwn(field, keyword) || types.includes(String(type))) continue;
    errors.push({ pointer: `/${keyword}`, detail: `goes with the type ${types.join(' and ')} alone` });
  }
  if (isBelow(maxLength, minLength)) errors.push({ pointer: '/maxLength', detail: 'is below `minLength`' });
  if (isBelow(maximum, minimum)) errors.push({ pointer: '/maximum', detail: 'is below `minimum`' });
  if (errors.length > 0 || !Object.hasOwn(field, 'default')) return errors;
  const detail = findValueError(field, field.default);
  return detail === null ? [] : [{ pointer: '/default', detail }];
}

function isBelow(most: unknown, least: unknown): boolean {
  return typeof most === 'number' && typeof least === 'number' && most < least;
}

const TOO_LONG = `must be at most ${JSON_BYTES_MAX} bytes as JSON`;

/** Says what is wrong with an answer to a question with this schema. Without a schema any value is right. */
export function findAnswerErrors(schema: AnswerSchema | undefined, answer: unknown): readonly ValueError[] {
  if (isTooLong(answer)) return [{ pointer: '', detail: TOO_LONG }];
  if (!schema) return [];
  if (!isObject(answer))
    return [{ pointer: '', detail: 'must be an object with the fields of the question' }];
  const { properties, required = [] } = schema;
  const missing = required
    .filter((name) => !Object.hasOwn(answer, name))
    .map((name) => ({ pointer: `/${escapeToken(name)}`, detail: 'is missing; the question requires it' }));
  const wrong = Object.entries(properties).flatMap(([name, field]): readonly ValueError[] => {
    const detail = Object.hasOwn(answer, name) ? findValueError(field, answer[name]) : null;
    return detail === null ? [] : [{ pointer: `/${escapeToken(name)}`, detail }];
  });
  const unknown = Object.keys(answer).filter((name) => !Object.hasOwn(properties, name));
  const named = unknown
    .slice(0, UNKNOWN_NAMES_MAX)
    .map((name) => ({
      pointer: `/${escapeToken(name)}`,
      detail: 'is no field of the question; leave it out',
    }))
    .filter(({ pointer }) => pointer.length <= POINTER_CHARS_MAX);
  const errors = [...missing, ...wrong, ...named];
  if (errors.length > 0 || unknown.length === 0) return errors;
  return [{ pointer: '', detail: 'must have no other fields than those of the question' }];
}

function findValueError(field: Partial<AnswerField>, value: unknown): string | null {
  const { type, enum: choices, minLength = 0, maxLength = Infinity, minimum, maximum } = field;
  switch (type) {
    case 'boolean':
      return typeof value === 'boolean' ? null : 'must be true or false';
    case 'string': {
      if (typeof value !== 'string') return 'must be a text';
      if (choices && !choices.includes(value)) return 'must be one of the texts in `enum`';
      const length = countChars(value);
      if (length < minLength) return `must have at least ${minLength} characters`;
      return length > maxLength ? `must have at most ${maxLength} characters` : null;
    }
    default: {
      if (typeof value !== 'number') return 'must be a number';
      if (type === 'integer' && !Number.isInteger(value)) return 'must be a whole number';
      if (minimum !== undefined && value < minimum) return `must be at least ${minimum}`;
      return maximum !== undefined && value > maximum ? `must be at most ${maximum}` : null;
    }
  }
}

function isTooLong(value: unknown): boolean {
  return Buffer.byteLength(JSON.stringify(value) ?? '') > JSON_BYTES_MAX;
}

function countChars(text: string): number {
  return [...text].length;
}

function below(pointer: string, error: ValueError): ValueError {
  return { ...error, pointer: `${pointer}${error.pointer}` };
}
