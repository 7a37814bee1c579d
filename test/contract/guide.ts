/** Reads the guide that stands in the published document's description: its sections and their tables. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const path = join(import.meta.dirname, '../../generated/openapi/task-gateway.3.1.json');
const { description } = JSON.parse(readFileSync(path, 'utf8')).info as { description: string };

/** The text of a section, without its heading. Throws when there is none of this name. */
export function readSection(heading: string): string {
  const sections = description.split(/^# /m).map((text) => text.split(/\n(.*)/s));
  const found = sections.find(([title]) => title === heading);
  if (found?.[1] === undefined) throw new Error(`The guide has no section "${heading}".`);
  return found[1];
}

/** The rows of a section's table, each by the titles of its columns, without the marks of code. */
export function readTable(heading: string): readonly Readonly<Record<string, string>>[] {
  const lines = readSection(heading)
    .split('\n')
    .filter((line) => line.startsWith('|'));
  const [titles = [], , ...rows] = lines.map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  );
  if (rows.length === 0) throw new Error(`The section "${heading}" has no table.`);
  return rows.map((cells) => Object.fromEntries(titles.map((title, index) => [title, cells[index] ?? ''])));
}

/** The words of a cell that stand between backquotes. */
export function listWords(cell: string | undefined): readonly string[] {
  return [...(cell ?? '').matchAll(/`([^`]+)`/g)].map(([, word]) => word ?? '');
}
