/** The types for Python: what the emitter makes of each form of a schema, and of the whole document. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { writePythonContract } from '../../spec/python-contract.ts';

const ROOT = join(import.meta.dirname, '../..');
const DOCUMENT = join(ROOT, 'generated/openapi/clients-and-agents.3.2.json');
const COMMITTED = join(ROOT, 'sdk/python/task_gateway/contract.py');

const write = (schemas: object): string => {
  const text = writePythonContract({ components: { schemas } });
  return text.slice(text.indexOf('\n\n\n') + 3);
};
const fields = { type: 'object', description: 'One thing. More of it.' };

test('The committed file is what the document gives; `npm run generate -- --check` says so too.', () => {
  expect(writePythonContract(JSON.parse(readFileSync(DOCUMENT, 'utf8')))).toBe(
    readFileSync(COMMITTED, 'utf8'),
  );
});

test.each([
  ['a text', { type: 'string', format: 'uuid' }, 'str'],
  ['a number', { type: 'number' }, 'float'],
  ['a whole number', { type: 'integer', minimum: 0 }, 'int'],
  ['a value that may be null', { anyOf: [{ type: 'null' }, { type: 'boolean' }] }, 'bool | None'],
  ['a constant', { type: 'boolean', enum: [true] }, 'Literal[True]'],
  ['a text with known values', { anyOf: [{ type: 'string' }, { enum: ['a'] }] }, 'Literal["a"] | str'],
  ['a list', { type: 'array', items: { type: 'string' } }, 'list[str]'],
  ['a free object', { type: 'object', additionalProperties: true }, 'dict[str, Any]'],
  ['a map', { type: 'object', additionalProperties: { type: 'integer' } }, 'dict[str, int]'],
  ['any value', {}, 'Any'],
])('A field that is %s has its type.', (_what, schema, type) => {
  const written = write({ One: { ...fields, required: ['a'], properties: { a: schema } } });
  expect(written).toBe(`class One(TypedDict):\n    """One thing."""\n\n    a: ${type}\n`);
});

test('Optional fields stand in a class below, the secret in none, and a word of Python in a call.', () => {
  const properties = {
    auth: { type: 'string' },
    a: { type: 'string' },
    b: { $ref: '#/components/schemas/Two' },
  };
  const two = { ...fields, properties: { from: { type: 'integer' } }, required: ['from'] };
  expect(write({ One: { ...fields, required: ['auth', 'a'], properties }, Two: two })).toBe(
    'class _One(TypedDict, total=False):\n    b: Two\n\n\n' +
      'class One(_One):\n    """One thing."""\n\n    a: str\n\n\n' +
      'Two = TypedDict("Two", {\n    "from": "int",\n})\n',
  );
});
