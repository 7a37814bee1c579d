// Reads vitest's JSON reports and prints what failed and why, so that the end of a long output names it, then the
// closing line "N passed, N failed" over all reports. Fails when a report ran nothing or anything failed. `STATUS` is
// that of the commands so far: where it is not 0 and no test failed, that counts as a failure too, and is said.
import { existsSync, readFileSync } from 'node:fs';

/** The first lines of a failure, indented. */
const indent = (message = '') =>
  message
    .slice(0, 3_000)
    .split('\n')
    .slice(0, 20)
    .map((line) => `  ${line}`)
    .join('\n');

const total = { passed: 0, failed: 0, skipped: 0 };
let isComplete = true;
for (const file of process.argv.slice(2)) {
  if (!existsSync(file)) {
    console.log(`no report: ${file}`);
    total.failed += 1;
    continue;
  }
  const report = JSON.parse(readFileSync(file, 'utf8'));
  const brokenSuites = report.testResults.filter(
    (suite) => suite.status === 'failed' && suite.assertionResults.every((one) => one.status !== 'failed'),
  );
  for (const suite of brokenSuites) console.log(`could not run: ${suite.name}\n${indent(suite.message)}`);
  for (const suite of report.testResults) {
    for (const test of suite.assertionResults.filter((one) => one.status === 'failed')) {
      console.log(`failed: ${suite.name}: ${test.fullName}\n${indent(test.failureMessages.join('\n'))}`);
    }
  }
  total.passed += report.numPassedTests;
  total.failed += report.numFailedTests + brokenSuites.length;
  total.skipped += report.numPendingTests + report.numTodoTests;
  isComplete &&= report.numPassedTests > 0;
}
if (total.failed === 0 && (process.env.STATUS ?? '0') !== '0') {
  console.log('failed: a command, and none of its tests: see "Unhandled Errors" above, or the benchmark');
  total.failed += 1;
}
const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : '';
console.log(`${total.passed} passed, ${total.failed} failed${skipped}`);
process.exitCode = total.failed === 0 && total.passed > 0 && isComplete ? 0 : 1;
