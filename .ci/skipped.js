// Prints the files of which a report of vitest has tests that were skipped for want of a tool, without those that
// `npm run test:ci` runs anyway.
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { listFiles } from '../test/suites.ts';

const [file = ''] = process.argv.slice(2);
const later = new Set([...listFiles('ci'), ...listFiles('alone')]);
for (const { name, assertionResults } of JSON.parse(readFileSync(file, 'utf8')).testResults) {
  const path = relative(process.cwd(), name);
  if (later.has(path)) continue;
  if (assertionResults.some(({ status, tags }) => status === 'skipped' && tags.length > 0)) console.log(path);
}
