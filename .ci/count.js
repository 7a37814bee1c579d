// Reads vitest's JSON reports and prints what failed and why, so that the end of a long output names it, then the
// names of all that failed, then the closing line "N passed, N failed" over all reports. Fails when a report ran
// nothing, when anything failed, and when a test that one report skipped for want of a tool was run in none. `STATUS`
// is that of the commands so far: where it is not 0 and no test failed, that counts as a failure too, and is said.
import { existsSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { mayBeMissing } from '../test/harness/tools.ts';

/** The first lines of a failure, indented. */
const indent = (message = '') =>
  message
    .slice(0, 3_000)
    .split('\n')
    .slice(0, 20)
    .map((line) => `  ${line}`)
    .join('\n');

let passed = 0;
const failures = [];
const fail = (name, message) => {
  failures.push(name);
  if (message !== undefined) console.log(`failed: ${name}\n${indent(message)}`);
};

/** The names of tests that were run somewhere, and of those that were skipped for want of a tool. */
const run = new Set();
const skipped = new Set();
for (const file of process.argv.slice(2)) {
  if (!existsSync(file)) {
    fail(`no report: ${file}`);
    continue;
  }
  const report = JSON.parse(readFileSync(file, 'utf8'));
  if (report.numPassedTests === 0) fail(`nothing was run: ${file}`);
  passed += report.numPassedTests;
  for (const suite of report.testResults) {
    const path = relative(process.cwd(), suite.name);
    const failed = suite.assertionResults.filter((one) => one.status === 'failed');
    if (suite.status === 'failed' && failed.length === 0) fail(`could not run: ${path}`, suite.message);
    for (const one of failed) fail(`${path}: ${one.fullName}`, one.failureMessages.join('\n'));
    for (const { status, tags, fullName } of suite.assertionResults) {
      // A count in a title is smaller in `npm test`.
      const name = `${path}: ${fullName.replace(/\d+/g, 'N')}`;
      if (status === 'passed' || status === 'failed') run.add(name);
      else if (tags.some((tag) => !mayBeMissing(tag))) skipped.add(name);
    }
  }
}
for (const name of skipped.difference(run)) fail(`skipped without a tool, and never run: ${name}`);
if (failures.length === 0 && (process.env.STATUS ?? '0') !== '0') {
  fail('a command, and none of its tests: see "Unhandled Errors" above, or the benchmark');
}
if (passed === 0) fail('nothing was run');
for (const name of failures) console.log(`failed: ${name}`);
console.log(`${passed} passed, ${failures.length} failed`);
process.exitCode = failures.length === 0 ? 0 : 1;
