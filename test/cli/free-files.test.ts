/** A process that has few files left: whether it finds out, and what a start of a program costs it. */
import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';

/** The lines that a module prints in a process of its own with at most 60 files. */
function runLimited(program: string): readonly string[] {
  const limited = ['-c', 'ulimit -n 60 && exec "$@"', 'sh', process.execPath, '--input-type=module', '-e'];
  return execFileSync('sh', [...limited, program], { encoding: 'utf8' })
    .trim()
    .split('\n');
}

const urlOf = (file: string): string => new URL(`../../sdk/cli/child/${file}`, import.meta.url).href;

test('whether there are free files is found out by opening them', () => {
  const program = `
    import { checkFreeFiles } from '${urlOf('executables.ts')}';
    console.log([4, 100, 4].map((count) => checkFreeFiles(count)).join());`;
  expect(runLimited(program)).toEqual(['true,false,true']);
});

// A start of Node's that fails late, for example where 6 files are free, leaves pipes open.
test('a start that fails leaves no file open, however many are free', () => {
  const program = `
    import { closeSync, openSync, readdirSync } from 'node:fs';
    import { runChild } from '${urlOf('child.ts')}';
    const run = () => {
      const ending = new AbortController();
      return runChild(['true'], {
        input: '', env: {}, signal: ending.signal, killAfterMs: 100, outputBytesMax: 10,
        onProgress() {}, onErrorLine() {}, onShortage: () => ending.abort(),
      }).then(() => 'ran', () => 'failed');
    };
    const count = () => readdirSync('/proc/self/fd').length;
    await run();
    const before = count();
    for (const free of Array(20).keys()) {
      const opened = [];
      try { for (;;) opened.push(openSync('/dev/null')); } catch {}
      for (const file of opened.splice(0, free)) closeSync(file);
      const how = await run();
      for (const file of opened) closeSync(file);
      console.log(how, count() - before);
    }`;
  const failed = Array(10).fill('failed 0');
  expect(runLimited(program)).toEqual([...failed, ...Array(10).fill('ran 0')]);
});

test('a start of the group watch that fails leaves no file open either', () => {
  const program = `
    import { closeSync, openSync, readdirSync } from 'node:fs';
    import { setImmediate as nextTurn } from 'node:timers/promises';
    import { startGroupWatch } from '${urlOf('group-watch.ts')}';
    const count = () => readdirSync('/proc/self/fd').length;
    const settle = async () => { for (let turn = 0; turn < 100; turn += 1) await nextTurn(); };
    for (const free of Array(20).keys()) {
      const before = count();
      const opened = [];
      try { for (;;) opened.push(openSync('/dev/null')); } catch {}
      for (const file of opened.splice(0, free)) closeSync(file);
      let how = 'started';
      const watch = startGroupWatch(100, () => { how = 'failed'; });
      await settle();
      void watch.expect('A=1');
      await settle();
      for (const file of opened) closeSync(file);
      console.log(how, count() - before);
    }`;
  // One that was started keeps its pipe.
  expect(runLimited(program)).toEqual([...Array(10).fill('failed 0'), ...Array(10).fill('started 1')]);
});
