/**
 * Validates scripts and faults against the simulator's document, whether they come in process or over HTTP. A
 * wrong one is refused with all its mistakes.
 */

import document from '@task-gateway/contract/openapi.simulator.json' with { type: 'json' };
import type { ValidateFunction } from 'ajv';
import { findAnswerErrors, findSchemaErrors } from '../domain/question.ts';
import { createAjv } from '../http/request/contract.ts';
import { createErrorDescriber, mergeErrors } from '../http/request/field-errors.ts';
import type { Schema } from '../http/request/schema-words.ts';
import type { Schemas } from './document.ts';
import type { FieldMistake } from './problem-responses.ts';

/** The simulator's document, as `GET /__sim/openapi.json` returns it. */
export const SIMULATOR_DOCUMENT = document;

/** Thrown for a value that the document does not allow. */
export class WrongValue extends TypeError {
  override readonly name = 'WrongValue';
  readonly errors: readonly FieldMistake[];
  constructor(errors: readonly FieldMistake[]) {
    super(`It is not valid: ${errors.map(({ pointer, detail }) => `\`${pointer}\` ${detail}`).join('; ')}.`);
    this.errors = errors;
  }
}

type SchemaName = 'Advance' | 'AgentScript' | 'Fault';
type Check = { readonly validate: ValidateFunction; readonly schema: Schema };

const checks = new Map<SchemaName, Check>();

/** Throws a `WrongValue` unless the schema allows the value. */
export function requireValid(name: SchemaName, value: unknown): void {
  const known = checks.get(name);
  const check = known ?? compileCheck(name);
  if (!known) checks.set(name, check);
  const { validate, schema } = check;
  const errors = !validate({ requestBody: value })
    ? mergeErrors(validate.errors ?? [], createErrorDescriber([], schema))
    : name === 'AgentScript'
      ? findAskMistakes(value as Schemas['AgentScript'])
      : [];
  if (errors.length > 0) throw new WrongValue(errors);
}

/** Finds questions or answers that the gateway would refuse and no schema can. */
function findAskMistakes({ asks = [] }: Schemas['AgentScript']): readonly FieldMistake[] {
  return asks.flatMap(({ schema, answer }, index) => {
    const inSchema = findSchemaErrors(schema);
    const isAnswered = inSchema.length === 0 && answer !== undefined;
    const [name, errors] = isAnswered ? ['answer', findAnswerErrors(schema, answer)] : ['schema', inSchema];
    return errors.map(({ pointer, detail }) => ({ pointer: `/asks/${index}/${name}${pointer}`, detail }));
  });
}

function compileCheck(name: SchemaName): Check {
  const schema = resolveReferences(document.components.schemas[name]);
  return { schema, validate: createAjv().compile({ properties: { requestBody: schema } }) };
}

function resolveReferences(schema: object): Schema {
  const named: Readonly<Record<string, object>> = document.components.schemas;
  return JSON.parse(JSON.stringify(schema), (_key, value) => {
    const reference: unknown = value?.$ref;
    if (typeof reference !== 'string') return value;
    return resolveReferences(named[reference.slice('#/components/schemas/'.length)] ?? {});
  });
}
