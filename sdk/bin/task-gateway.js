#!/usr/bin/env node
/**
 * The command `task-gateway`. This file is not compiled: npm links a command only if its file exists, and in
 * a fresh checkout npm does that before anything is built.
 */
import { existsSync } from 'node:fs';

const program = new URL('../dist/cli/main.js', import.meta.url);
if (existsSync(program)) {
  import(program.href);
} else {
  console.error(
    'The command task-gateway is not built: run "npm ci" in the checkout with Node 24 and without --ignore-scripts.',
  );
  process.exitCode = 1;
}
