/**
 * The requirements that the conformance kit checks, as they are published: those of the specification, which
 * are written by hand in `requirements/specification.json`.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const FILE = join(import.meta.dirname, 'requirements/specification.json');

type Requirement = { readonly id: string; readonly text: string };

/** The text of `requirements.json`. Throws an error where two requirements have one id. */
export function buildRequirements(): string {
  const all: readonly Requirement[] = JSON.parse(readFileSync(FILE, 'utf8'));
  const ids = all.map(({ id }) => id);
  const twice = ids.filter((id, index) => ids.indexOf(id) !== index);
  if (twice.length > 0) throw new Error(`Two requirements have one id: ${twice.join(', ')}.`);
  return `${JSON.stringify(all, null, 2)}\n`;
}
