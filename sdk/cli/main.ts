#!/usr/bin/env node
/**
 * The command `task-gateway`. Only the check of Node's version stands here, so that a Node too old for the rest says
 * so in one sentence instead of stumbling over it.
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
