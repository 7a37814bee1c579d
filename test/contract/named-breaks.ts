/**
 * Breaks of the contract that the changelog names: a break may be, where a line under "Breaking since the
 * previews" says so to those who use the operation and the field.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isJson, type Json } from '../../spec/document.ts';
import type { Rating } from './redocly.ts';

const GROUP = 'Breaking since the previews';
const METHODS = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options', 'trace'];

/** Who is broken: an operation or webhook by its id; and the field, parameter or status, if it is one. */
export type Break = { readonly operation: string; readonly field?: string };

/** The section of a version. Its heading has the date when the version is out: `## 2.0.0 (2026-12-01)`. */
export function findSection(changelog: string, version: string): string | undefined {
  const sections = changelog.split(/^(?=## )/m);
  return sections.find((one) => /^## (\S+)(?: \(\d{4}-\d\d-\d\d\))?\n/.exec(one)?.[1] === version);
}

/** The lines of the version's section that name breaks, each in one line; empty if it has no such group. */
export function readBreakLines(version: string, changelog = readChangelog()): readonly string[] {
  const section = findSection(changelog, version);
  if (section === undefined) throw new Error(`CHANGELOG.md has no section "## ${version}".`);
  const group = section.split(/^### /m).find((one) => one.startsWith(`${GROUP}\n`)) ?? '';
  return group
    .split(/^- /m)
    .slice(1)
    .map((line) => line.replaceAll(/\s+/g, ' ').trim());
}

function readChangelog(): string {
  return readFileSync(join(import.meta.dirname, '../../CHANGELOG.md'), 'utf8');
}

/** The breaks of a rating that no line names: a line has the operation and the field as code. */
export function findUnnamed(breaks: readonly Break[], lines: readonly string[]): readonly Break[] {
  const named = lines.map((line) => {
    const code = [...line.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text);
    return new Set(code.flatMap((text) => [text, ...text.split(/[^\w-]+/)]));
  });
  return breaks.filter(
    ({ operation, field }) => !named.some((words) => words.has(operation) && words.has(field ?? operation)),
  );
}

/** Whom a breaking rating concerns. Of a schema that operations share the comparison names one of them. */
export function listBreaks({ path, reasons }: Rating, documents: readonly Json[]): readonly Break[] {
  const [, group = '', item = '', method = '', ...rest] = path.split('/').map(unescapePointer);
  const items = documents.map((document) => at(document, group, item)).filter(isJson);
  const operations = group === 'webhooks' ? [item] : listIds(items, method);
  if (operations.length === 0) throw new Error(`No operation is known for ${path}.`);
  const fields = METHODS.includes(method)
    ? reasons.flatMap((reason) => fieldsOf(reason, rest, items, method))
    : [];
  return operations.flatMap((operation) =>
    fields.length === 0 ? [{ operation }] : [...new Set(fields)].map((field) => ({ operation, field })),
  );
}

/** The operation's id before the change, or after it if it is new. For a path without method: all of its. */
function listIds(items: readonly Json[], method: string): readonly string[] {
  const methods = METHODS.includes(method) ? [method] : METHODS;
  const ids = items.map((item) =>
    methods.map((one) => at(item, one, 'operationId')).filter((id) => typeof id === 'string'),
  );
  return ids.find((found) => found.length > 0) ?? [];
}

function fieldsOf(
  reason: string,
  rest: readonly string[],
  items: readonly Json[],
  method: string,
): readonly string[] {
  const quoted = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
  const [, required] = /required: (.*)$/.exec(reason) ?? [];
  if (required !== undefined) return quoted(required);
  const property = rest[rest.lastIndexOf('properties') + 1];
  if (rest.includes('properties') && property !== undefined) return [property];
  if (rest[0] === 'parameters') {
    const names = items.map((item) => at(item, method, 'parameters', rest[1] ?? '', 'name'));
    const known = names.filter((name) => typeof name === 'string');
    return quoted(reason)
      .filter((name) => known.includes(name))
      .concat(known)
      .slice(0, 1);
  }
  return rest.length === 0 ? [] : quoted(reason).slice(-1);
}

function at(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (inner, key) => (Array.isArray(inner) ? inner[Number(key)] : isJson(inner) ? inner[key] : undefined),
    value,
  );
}

const unescapePointer = (part: string) => part.replaceAll('~1', '/').replaceAll('~0', '~');
