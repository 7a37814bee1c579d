/**
 * Which documents the generators and validators of others were tried with last: a digest of these documents,
 * of the page over the generators, of their lock file and of their tests. While nothing of that changes, CI
 * neither installs their 369 packages nor runs them.
 */
import { createHash } from 'node:crypto';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');
export const FOREIGN_PACKAGES = join(ROOT, 'test/contract/generators');
const DIGEST = join(FOREIGN_PACKAGES, 'tried.txt');
/** The tests that need them. */
export const GENERATOR_TESTS = [
  'test/contract/generators.test.ts',
  'test/contract/other-languages.test.ts',
  'test/contract/validators.test.ts',
];
const INPUTS = [
  'generated/openapi/*.json',
  'generated/generate-a-client.md',
  'test/contract/{clients,generator-page,recorder,run-tool}.ts',
  'test/contract/generators/package-lock.json',
  'test/contract/generators/{oapi,openapi,progenitor}*/**/*.*',
  'test/harness/language-tools.ts',
  ...GENERATOR_TESTS,
];

function computeDigest(): string {
  const digest = createHash('sha256');
  for (const file of globSync(INPUTS, { cwd: ROOT }).sort())
    digest.update(`${file}\n`).update(
      createHash('sha256')
        .update(readFileSync(join(ROOT, file)))
        .digest(),
    );
  return digest.digest('hex');
}

/** Whether they were tried with the files as they are now. */
export const wereGeneratorsTried = (): boolean => readFileSync(DIGEST, 'utf8').trim() === computeDigest();

/** Call it only when all their tests have passed. */
export const noteGeneratorsTried = (): void => writeFileSync(DIGEST, `${computeDigest()}\n`);
