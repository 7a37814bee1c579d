/** What the start leaves behind is given back, unless the memory is that of tasks. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const run = promisify(execFile);

/** MB of V8's space for new objects before and after, in a process whose loading left this many MB in use. */
async function releaseBeside(usedMb: number): Promise<readonly [beforeMb: number, afterMb: number]> {
  const script = `
    import { getHeapSpaceStatistics } from 'node:v8';
    import { releaseStartMemory } from './server/system/start-memory.ts';
    const readMb = () => getHeapSpaceStatistics().find((one) => one.space_name === 'new_space').space_size / 2 ** 20;
    const used = Array.from({ length: ${usedMb} * 2 ** 14 }, (_, n) => ({ n, text: String(n) }));
    for (let kept = [], n = 0; n < 2 ** 20; n += 1) kept = n % 2 ** 16 === 0 ? [] : [...kept.slice(-1), { n }];
    const beforeMb = readMb();
    releaseStartMemory();
    console.log(JSON.stringify([beforeMb, readMb(), used.length, globalThis.gc === undefined]));`;
  const words = ['--max-semi-space-size=16', '--input-type=module', '--eval', script];
  const { stdout } = await run(process.execPath, words, { cwd: join(import.meta.dirname, '../..') });
  const [beforeMb, afterMb, length, isHidden] = JSON.parse(stdout) as [number, number, number, boolean];
  expect({ length, isHidden }).toEqual({ length: usedMb * 2 ** 14, isHidden: true });
  return [beforeMb, afterMb];
}

test('the space that loading has grown is small again', async () => {
  const [beforeMb, afterMb] = await releaseBeside(16);
  expect(beforeMb).toBeGreaterThan(8);
  expect(afterMb).toBeLessThan(beforeMb / 4);
});

test('a process with much in use is left alone', async () => {
  const [beforeMb, afterMb] = await releaseBeside(200);
  expect(afterMb).toBe(beforeMb);
});
