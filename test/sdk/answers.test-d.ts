/**
 * Checked by the compiler alone: which answers of a handler compile.
 * `@ts-expect-error` stands above code that must not compile, and fails the check if it does.
 */
import type { Handler } from '../../sdk/agent/index.ts';

/** What a handler may return is what can be a result, also of one that is asynchronous. */
export function answer(): readonly Handler[] {
  const right: readonly Handler[] = [
    () => 'x',
    async () => 'x',
    () => {},
    async () => {},
    () => null,
    async () => ({ output: 'x', n: 1 }),
    () => ({ n: [1] }),
  ];
  const wrong: Handler[] = [];
  // @ts-expect-error JSON has no object for it.
  wrong.push(() => 5);
  // @ts-expect-error JSON has no object for it.
  wrong.push(async () => 5);
  // @ts-expect-error JSON has no object for it.
  wrong.push(() => true);
  // @ts-expect-error JSON has no object for it.
  wrong.push(async () => true);
  // @ts-expect-error JSON has no object for it.
  wrong.push(() => [1]);
  // @ts-expect-error JSON has no object for it.
  wrong.push(async () => [1]);
  // @ts-expect-error JSON has no object for it.
  wrong.push(() => 5n);
  // @ts-expect-error JSON has no object for it.
  wrong.push(async () => 5n);
  // @ts-expect-error JSON has no object for it.
  wrong.push(() => () => 1);
  // @ts-expect-error JSON has no object for it.
  wrong.push(async () => () => 1);
  // @ts-expect-error JSON has no object for it.
  wrong.push(() => new Map());
  // @ts-expect-error JSON has no object for it.
  wrong.push(async () => new Map());
  return [...right, ...wrong];
}
