/*
 * The second half of the build, behind the compiler: it copies the requirements. `dist/` has the folders of
 * the repository, so that every file finds the others as it does there.
 */
import { cpSync } from 'node:fs';

const target = new URL('dist/generated/conformance/', import.meta.url);
cpSync(new URL('../../generated/conformance/', import.meta.url), target, { recursive: true });
