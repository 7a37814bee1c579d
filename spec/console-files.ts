/**
 * The files of the console at `/console`: `server/console/`, built for browsers together with the SDK and
 * Preact, and the licences of what is in them.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Builds the console and returns the text of each file by its name. The build runs in a process of its own,
 * so that this process's environment does not change it. Throws an error with the tool's output.
 */
export function buildConsoleFiles(specFolder: string): ReadonlyMap<string, string> {
  const folder = mkdtempSync(join(tmpdir(), 'task-gateway-console-'));
  const tool = join(specFolder, '../node_modules/.bin/vite');
  const config = join(specFolder, 'console.vite.ts');
  const options = ['build', '--config', config, '--configLoader', 'native', '--outDir', folder];
  try {
    execFileSync(process.execPath, [tool, ...options, '--emptyOutDir', '--logLevel', 'warn'], {
      cwd: specFolder,
      env: { PATH: process.env.PATH, NODE_ENV: 'production', NO_COLOR: '1' },
      stdio: 'pipe',
    });
    const names = readdirSync(folder).sort();
    return new Map(names.map((name) => [name, endLine(readFileSync(join(folder, name), 'utf8'))]));
  } catch (error) {
    const output = error instanceof Error && 'stderr' in error ? `${error.stderr}` : '';
    throw new Error(`The console could not be built.\n${output}`, { cause: error });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Adds the line end that a text file ends with. */
function endLine(text: string): string {
  return text.endsWith('\n') ? text : `${text}\n`;
}
