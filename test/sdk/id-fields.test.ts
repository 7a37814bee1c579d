/**
 * Each field of the document that holds an id has an id's type in the SDK. A new one is missing in the list
 * below, and with a name that the SDK's rule does not know it does not compile there.
 */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { WithIds } from '../../sdk/id-kinds.ts';

type IsId<Name extends string> = '__names' extends keyof WithIds<{ readonly [N in Name]: string }>[Name]
  ? Name
  : never;
/** Takes the names of fields that the rule knows. */
const listIds = <const Names extends readonly string[]>(
  names: Names & { readonly [I in keyof Names]: IsId<Names[I]> },
): readonly string[] => names;

const ID_FIELDS = listIds(['agent', 'agent_id', 'cli_session_id', 'id', 'request_id', 'session']);
/** Those that hold several. */
const ID_LISTS = listIds(['cancelled_request_ids', 'request_ids']);

type Schema = { readonly [key: string]: unknown };
const PLACES = /(^|_)ids?$|^(agent|session)$/;
/** A position in a stream, which the SDK keeps to itself. */
const OTHERS: ReadonlySet<string> = new Set(['last_event_id']);

/** Names of the fields and parameters that hold a text, or several, and are called as ids are. */
function findIdFields(node: unknown, found = new Set<string>()): ReadonlySet<string> {
  if (typeof node !== 'object' || node === null) return found;
  const { properties, name, schema } = node as Schema;
  const fields = typeof name === 'string' && schema ? { [name]: schema } : (properties ?? {});
  for (const [field, value] of Object.entries(fields))
    if (PLACES.test(field) && !OTHERS.has(field) && holdsText(value)) found.add(field);
  for (const value of Object.values(node)) findIdFields(value, found);
  return found;
}

/** Whether it is no object: those have fields of their own. */
function holdsText(schema: unknown): boolean {
  return !('properties' in (schema as Schema));
}

test('Each id of the document is one in the types of the SDK.', () => {
  const url = import.meta.resolve('@task-gateway/contract/openapi.whole.json');
  const document: unknown = JSON.parse(readFileSync(new URL(url), 'utf8'));
  expect([...findIdFields(document)].sort()).toEqual([...ID_FIELDS, ...ID_LISTS].sort());
});
