#!/usr/bin/env node
/**
 * The entry of the command `task-gateway`. It only checks the version of Node. It must itself run on old
 * versions, which would otherwise fail with a syntax error somewhere in the rest.
 */
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

if (major > 20 || (major === 20 && minor >= 19)) {
  import('./program.ts').then(({ main }) => main());
} else {
  console.error(
    `task-gateway needs Node 20.19 or newer and this is Node ${process.versions.node}: install a newer one (https://nodejs.org).`,
  );
  process.exitCode = 1;
}

export {};
