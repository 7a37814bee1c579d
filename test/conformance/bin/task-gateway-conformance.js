#!/usr/bin/env node
/**
 * The command of the package. In a checkout it runs the sources, elsewhere the compiled files. This file
 * checks Node before it loads anything that an old one could not read.
 */
import { existsSync, readFileSync } from 'node:fs';

const NEEDED = [22, 12];
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
const sources = new URL('../command.ts', import.meta.url);
const isCheckout = existsSync(sources);

if (major < NEEDED[0] || (major === NEEDED[0] && minor < NEEDED[1])) {
  console.error(
    `The kit needs Node ${NEEDED.join('.')} or newer and this is Node ${process.versions.node}: install a newer one (https://nodejs.org).`,
  );
  process.exitCode = 2;
} else {
  const program = isCheckout ? sources : new URL('../dist/test/conformance/command.js', import.meta.url);
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  const { runCommand } = await import(program.href);
  process.exitCode = await runCommand(process.argv.slice(2), version);
}
