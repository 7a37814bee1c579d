/** A folder for one test, removed when the test ends. */
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
