/**
 * A process for a test to kill: it commits tasks to the database named in its arguments, several at a time,
 * and prints each id once its commit has resolved.
 */
import { openFileStore } from '../../server/engines/sqlite/open.ts';
import { createClock } from '../../server/system/clock.ts';
import { SILENT } from '../harness/silent-log.ts';
import { settle, submit } from './store-under-test.ts';

const [path = '', run = ''] = process.argv.slice(2);
const LANES = 8;
const store = await openFileStore(path, { clock: createClock(), log: SILENT });

async function commitEndlessly(lane: number): Promise<never> {
  for (let index = 0; ; index += 1) {
    const id = `${run}-${lane}-${index}`;
    await submit(store, id);
    process.stdout.write(`submitted ${id}\n`);
    await settle(store, id);
    process.stdout.write(`settled ${id}\n`);
  }
}

await Promise.all(Array.from({ length: LANES }, (_, lane) => commitEndlessly(lane)));
