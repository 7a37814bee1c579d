/** Folders of tests, removed when the test or the suite ends. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** Creates the folder and returns its path. Must be called within a test. */
export function useFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'task-gateway-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Creates a folder for a whole suite, which must remove it. */
export function makeFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'task-gateway-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}
