// Reads vitest's JSON reports and prints the closing line "N passed, N failed" over all of them; fails when one of
// them ran nothing or anything failed.
import { existsSync, readFileSync } from 'node:fs';

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
  for (const suite of brokenSuites) console.log(`could not run: ${suite.name}`);
  total.passed += report.numPassedTests;
  total.failed += report.numFailedTests + brokenSuites.length;
  total.skipped += report.numPendingTests + report.numTodoTests;
  isComplete &&= report.numPassedTests > 0;
}
const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : '';
console.log(`${total.passed} passed, ${total.failed} failed${skipped}`);
process.exitCode = total.failed === 0 && total.passed > 0 && isComplete ? 0 : 1;
