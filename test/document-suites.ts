/** The long suites of the document: what is generated, what others make of it, and a second gateway. */
import type { CiSuite } from './ci-suite.ts';

export const DOCUMENT: readonly CiSuite[] = [
  {
    file: 'test/contract/sources.test.ts',
    seconds: 12,
    reason: 'compiles the sources once for each mistake in them',
    partIn: ['test/contract/contract.test.ts'],
  },
  {
    file: 'test/contract/published.test.ts',
    seconds: 25,
    reason: 'generates everything from the sources again, and lints it with two linters',
    partIn: ['test/contract/contract.test.ts'],
  },
  {
    file: 'test/contract/generators.test.ts',
    seconds: 40,
    reason: 'nine generators of clients, for two documents each, and what they wrote compiled',
    partIn: ['test/contract/contract.test.ts'],
  },
  {
    file: 'test/contract/validators.test.ts',
    seconds: 3,
    reason: 'validators that CI alone installs',
    partIn: ['test/contract/document-check.test.ts'],
  },
  {
    file: 'test/contract/breaking.test.ts',
    seconds: 24,
    reason: 'a comparison of documents for each of 30 planted changes',
    partIn: ['test/contract/contract.test.ts'],
  },
  {
    file: 'test/contract/code-samples.test.ts',
    seconds: 16,
    reason: 'a process for each of 39 samples',
    partIn: ['test/contract/document-check.test.ts'],
  },
  {
    file: 'test/conformance/differential.test.ts',
    seconds: 12,
    reason: 'a second gateway, and a thousand observations of both',
    partIn: ['test/contract/contract.test.ts'],
  },
];
