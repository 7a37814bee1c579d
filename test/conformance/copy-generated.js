/**
 * The second half of the build, after the compiler: it copies the requirements and the document. `dist/` has
 * the folders of the repository, so that every file finds the others as it does there.
 */
import { cpSync } from 'node:fs';

for (const name of ['conformance/', 'openapi/task-gateway.3.1.json']) {
  const target = new URL(`dist/generated/${name}`, import.meta.url);
  cpSync(new URL(`../../generated/${name}`, import.meta.url), target, { recursive: true });
}
