/** The long suites of the console: a real browser over the real gateway. */
import type { CiSuite } from './ci-suite.ts';

/** Each takes a browser, and most wait for what is read every 2 s. */
export const CONSOLE: readonly CiSuite[] = [
  {
    file: 'test/console/console-screens.test.ts',
    seconds: 40,
    reason: 'a browser that draws 13 screens in three forms each, and axe on all',
    partIn: ['test/http/console.test.ts'],
  },
  {
    file: 'test/console/console-states.test.ts',
    seconds: 30,
    reason: 'a gateway and a store that are killed and started again under a browser',
    partIn: ['test/console/polling.test.ts'],
  },
  {
    file: 'test/console/hostile-text.test.ts',
    seconds: 20,
    reason: 'a browser that opens 50 pages',
    partIn: ['test/console/json-model.test.ts'],
  },
  {
    file: 'test/console/still-rows.test.ts',
    seconds: 18,
    reason: 'a browser that waits for what is read every 2 s',
    partIn: ['test/console/frozen-list.test.ts'],
  },
  {
    file: 'test/console/keyboard-run.test.ts',
    seconds: 17,
    reason: 'a browser',
    partIn: ['test/console/keyboard-map.test.ts'],
  },
];
