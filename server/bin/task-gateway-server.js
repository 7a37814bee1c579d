#!/usr/bin/env node
/*
 * The command of the package: starts the gateway, or with the word `backup` copies its database. In a
 * checkout it runs the sources, elsewhere what is compiled. Nothing but a check of Node is loaded before Node
 * has the flags it needs.
 */
import { existsSync } from 'node:fs';

const sources = new URL('../', import.meta.url);
const isCheckout = existsSync(new URL('main.ts', sources));
const folder = isCheckout ? sources : new URL('../dist/server/', import.meta.url);
await import(new URL('node-version.js', folder));

// V8 takes the size of its young generation when the process begins, and with its own the gateway would need
// twice the memory: the process is replaced by one with this flag, under the same id. Windows cannot do that.
const FLAG = '--max-semi-space-size=16';
const isSet = [...process.execArgv, process.env.NODE_OPTIONS].some((text) =>
  /max.semi.space/.test(text ?? ''),
);
if (!isSet && process.platform !== 'win32') {
  process.execve(process.execPath, [
    process.execPath,
    ...[...process.execArgv, FLAG],
    ...process.argv.slice(1),
  ]);
}

// npm passes a signal on to the shell alone in which it runs this command: the shell's end is the signal.
if (process.env.npm_command !== undefined) {
  const shell = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === shell) return;
    clearInterval(timer);
    process.kill(process.pid, 'SIGTERM');
  }, 500);
  timer.unref();
}

const entry = process.argv[2] === 'backup' ? process.argv.splice(2, 1)[0] : 'main';
await import(new URL(`${entry}.${isCheckout ? 'ts' : 'js'}`, folder));
