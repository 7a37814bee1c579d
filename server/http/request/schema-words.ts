/**
 * The requirements of a schema, in words a person can act on: for example, "a text of 1 to 256 characters".
 */

/** The part of JSON Schema that the contract uses, with references resolved. */
export type Schema = {
  readonly type?: string;
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly pattern?: string;
  readonly default?: unknown;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
};

/** Describes a schema. */
export function describeSchema(schema: Schema): string {
  if (schema.anyOf) return schema.anyOf.map(describeSchema).join(' or ');
  if (schema.enum) return `${schema.enum.length > 1 ? 'one of ' : ''}${schema.enum.join(', ')}`;
  switch (schema.type) {
    case 'string':
      return `a text${describeLength(schema)}${describePattern(schema)}`;
    case 'integer':
      return `an integer${describeRange(schema)}`;
    case 'number':
      return `a number${describeRange(schema)}`;
    case 'array':
      return `an array${describeItems(schema)}${schema.items ? `, each ${describeSchema(schema.items)}` : ''}`;
    case 'object':
      return 'a JSON object';
    case 'boolean':
      return 'true or false';
    default:
      return String(schema.type);
  }
}

/** Finds the schema of the value at a path; undefined when the schema describes no such value. */
export function findSchemaAt(schema: Schema | undefined, path: readonly string[]): Schema | undefined {
  const [key, ...rest] = path;
  if (key === undefined || !schema) return schema;
  if (schema.anyOf) {
    for (const alternative of schema.anyOf) {
      const found = findSchemaAt(alternative, path);
      if (found) return found;
    }
    return undefined;
  }
  return findSchemaAt(schema.properties?.[key] ?? schema.items, rest);
}

/** The names of an object's properties. */
export function listNames(schema: Schema | undefined): readonly string[] {
  return (schema?.anyOf ?? [schema]).flatMap((one) => Object.keys(one?.properties ?? {}));
}

function describeLength({ minLength, maxLength }: Schema): string {
  if (minLength !== undefined && maxLength !== undefined)
    return ` of ${minLength} to ${maxLength} characters`;
  if (maxLength !== undefined) return ` of at most ${maxLength} characters`;
  return minLength === undefined ? '' : ` of at least ${minLength} characters`;
}

function describeItems({ minItems, maxItems }: Schema): string {
  if (maxItems === undefined) return '';
  return minItems === undefined ? ` of at most ${maxItems} items` : ` of ${minItems} to ${maxItems} items`;
}

function describePattern({ pattern }: Schema): string {
  if (pattern === undefined) return '';
  return pattern === '^[ -~]+$' ? ' of printable ASCII' : ` that matches ${pattern}`;
}

function describeRange({ minimum, maximum, exclusiveMinimum }: Schema): string {
  if (exclusiveMinimum !== undefined) return ` above ${exclusiveMinimum}`;
  if (minimum !== undefined && maximum !== undefined) return ` from ${minimum} to ${maximum}`;
  return minimum === undefined ? '' : `, ${minimum} or more`;
}
