/**
 * The types of the contract for Python: a TypedDict for each object that clients and agents send or get, a
 * Literal for each set of values, and the codes of the problems. They need nothing but `typing`, so a
 * program can import them while it runs.
 */
import { isJson, type Json, requireObject } from './document.ts';

const HEAD = `"""Generated from the contract. Do not edit: change the TypeSpec sources and generate again.

What clients and agents send and get. The client adds the secret, so no type here has \`auth\`.
"""

from __future__ import annotations

from typing import Any, Literal, TypedDict
`;
const COLUMNS_MAX = 110;
const KEYWORDS: ReadonlySet<unknown> = new Set(['from', 'import', 'class', 'in', 'is', 'not', 'pass']);

/** Returns the module of types for a document. */
export function writePythonContract(document: Json): string {
  const schemas = requireObject(document, 'components', 'schemas') as Record<string, Json>;
  const named = Object.entries(schemas).filter(([, schema]) => isNamed(schema));
  const typeOf = createTypeOf(schemas);
  const values = named.filter(([, schema]) => !isJson(schema.properties));
  const objects = named.filter(([, schema]) => isJson(schema.properties) && schema.allOf === undefined);
  return [
    HEAD,
    ...values.map(([name, schema]) => writeAlias(name, typeOf(schema))),
    writeAlias('ProblemCode', `${writeLiteral(listCodes(named))} | str`),
    ...objects.map(([name, schema]) => `\n\n${writeObject(name, schema, typeOf)}`),
    '',
  ].join('\n');
}

/** Whether the schema gets a type of its own: it is a set of values, or an object with fields. */
function isNamed(schema: Json): boolean {
  if (isJson(schema.properties)) {
    const isFree = schema.additionalProperties === true;
    return !isFree && !Object.values(schema.properties).some((one) => isJson(one) && 'contentSchema' in one);
  }
  const parts = Array.isArray(schema.anyOf) ? schema.anyOf : [schema];
  return parts.some((part) => isJson(part) && Array.isArray(part.enum));
}

/** Creates the function that returns the type of a schema as Python writes it. */
function createTypeOf(schemas: Readonly<Record<string, Json>>): (schema: unknown) => string {
  const typeOf = (schema: unknown): string => {
    if (!isJson(schema)) return 'Any';
    if (typeof schema.$ref === 'string') {
      const name = schema.$ref.split('/').at(-1) ?? '';
      const target = schemas[name] ?? {};
      return isNamed(target) ? name : typeOf(target);
    }
    if (Array.isArray(schema.enum)) return writeLiteral(schema.enum);
    if (Array.isArray(schema.anyOf)) return writeUnion(schema.anyOf.map(typeOf));
    switch (schema.type) {
      case 'string':
        return 'str';
      case 'integer':
        return 'int';
      case 'number':
        return 'float';
      case 'boolean':
        return 'bool';
      case 'null':
        return 'None';
      case 'array':
        return `list[${typeOf(schema.items)}]`;
      case 'object':
        return `dict[str, ${isJson(schema.additionalProperties) ? typeOf(schema.additionalProperties) : 'Any'}]`;
      default:
        return 'Any';
    }
  };
  return typeOf;
}

/** Writes a union: `str`, for texts of a later gateway, and `None` come last. */
function writeUnion(types: readonly string[]): string {
  const last = ['str', 'None'];
  const ordered = [...types].sort((a, b) => last.indexOf(a) - last.indexOf(b));
  return [...new Set(ordered)].join(' | ');
}

function writeLiteral(values: readonly unknown[]): string {
  return `Literal[${values.map((value) => (value === true ? 'True' : JSON.stringify(value))).join(', ')}]`;
}

/** Lists the codes of all problems that the document names, sorted. */
function listCodes(named: readonly (readonly [string, Json])[]): readonly string[] {
  const codes = named.flatMap(([, { properties }]) => {
    const code = isJson(properties) && isJson(properties.code) ? properties.code : {};
    const parts = Array.isArray(code.anyOf) ? code.anyOf : [];
    return parts.flatMap((part) => (isJson(part) && Array.isArray(part.enum) ? part.enum : [])) as string[];
  });
  return [...new Set(codes)].sort();
}

/** Writes an alias, with a line for each value where one line would be too long. */
function writeAlias(name: string, type: string): string {
  const line = `${name} = ${type}`;
  if (line.length <= COLUMNS_MAX) return line;
  const broken = type.replace(/(?<=\[)(.*)(?=\])/, (values) => {
    const lines = values.split(', ').map((value) => `    ${value},\n`);
    return `\n${lines.join('')}`;
  });
  return `${name} = ${broken}`;
}

/**
 * Writes a class of the required fields, based on a class of those that may be absent, because Python 3.10
 * cannot mark single fields. A field whose name is a keyword of Python needs the call that makes a class.
 */
function writeObject(name: string, schema: Json, typeOf: (schema: unknown) => string): string {
  const required: ReadonlySet<unknown> = new Set(Array.isArray(schema.required) ? schema.required : []);
  const fields = Object.entries(requireObject(schema, 'properties')).filter(([field]) => field !== 'auth');
  const write = (kept: typeof fields, indent: string): string =>
    kept.map(([field, one]) => `${indent}${field}: ${typeOf(one)}`).join('\n');
  const optional = fields.filter(([field]) => !required.has(field));
  const sure = fields.filter(([field]) => required.has(field));
  const text = writeDoc(schema.description);
  if (fields.some(([field]) => KEYWORDS.has(field))) {
    const lines = fields.map(([field, one]) => `    ${JSON.stringify(field)}: ${quote(typeOf(one))},`);
    return `${name} = TypedDict(${JSON.stringify(name)}, {\n${lines.join('\n')}\n})`;
  }
  if (optional.length === 0) return `class ${name}(TypedDict):\n${text}\n${write(sure, '    ')}`;
  if (sure.length === 0) return `class ${name}(TypedDict, total=False):\n${text}\n${write(optional, '    ')}`;
  const base = `class _${name}(TypedDict, total=False):\n${write(optional, '    ')}`;
  return `${base}\n\n\nclass ${name}(_${name}):\n${text}\n${write(sure, '    ')}`;
}

/** Quotes a type in a call: Python evaluates it before the classes below are defined. */
function quote(type: string): string {
  return JSON.stringify(type);
}

/** Returns the first sentence of a description. */
function writeDoc(description: unknown): string {
  const [sentence = ''] = /^[\s\S]*?[.:](?=\s|$)/.exec(String(description ?? '')) ?? [];
  const words = sentence.replace(/:$/, '.').split(/\s+/);
  const lines = [''];
  for (const word of words) {
    const line = `${lines.at(-1)} ${word}`.trim();
    if (line.length > COLUMNS_MAX - 14) lines.push(word);
    else lines[lines.length - 1] = line;
  }
  return `    """${lines.join('\n    ')}"""\n`;
}
