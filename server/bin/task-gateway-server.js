#!/usr/bin/env node
/*
 * The command of the package: starts the gateway, or copies its database if the word is `backup`. In a
 * checkout it runs the sources, elsewhere the compiled files. Until Node has the flags it needs, only a check
 * of Node is loaded.
 */
import { existsSync } from 'node:fs';

const sources = new URL('../', import.meta.url);
const isCheckout = existsSync(new URL('main.ts', sources));
const folder = isCheckout ? sources : new URL('../dist/server/', import.meta.url);
await import(new URL('node-version.js', folder));

// V8 takes the size of its young generation when the process begins. With V8's own size the gateway would
// need twice the memory, so the process is replaced by one with this flag, under the same id. Windows cannot
// do that.
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

// npm passes a signal only to the shell in which it runs this command, so the end of the shell counts as the
// signal.
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
