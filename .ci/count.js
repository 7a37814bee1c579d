// Reads vitest's JSON report and prints the closing line "N passed, N failed"; fails when nothing ran or anything failed.
import { readFileSync } from 'node:fs';

const report = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const brokenSuites = report.testResults.filter(
  (suite) => suite.status === 'failed' && suite.assertionResults.every((one) => one.status !== 'failed'),
);
const failed = report.numFailedTests + brokenSuites.length;
const skipped = report.numPendingTests + report.numTodoTests;
for (const suite of brokenSuites) console.log(`could not run: ${suite.name}`);
console.log(`${report.numPassedTests} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
process.exitCode = failed > 0 || report.numPassedTests === 0 ? 1 : 0;
