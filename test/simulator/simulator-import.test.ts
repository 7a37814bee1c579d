/** The simulator by its name in a checkout, in a process of its own: as programs of TESTING.md import it. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const PROGRAM = `
  import { createClient } from '@task-gateway/sdk';
  import { createSimulator } from '@task-gateway/simulator';
  const world = createSimulator();
  await world.agents.add({ tags: ['pdf'] });
  const task = { task_type: 'convert', task_tags: ['pdf'], payload: {} };
  const { result } = await world.clock.runUntil(createClient({ ...world.options }).runTask(task));
  console.log(JSON.stringify(result));`;

test('What `npm ci` leaves in a checkout imports the simulator by its name, without a warning.', () => {
  const args = ['--input-type=module', '--eval', PROGRAM];
  const printed = execFileSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8', stdio: 'pipe' });
  expect(JSON.parse(printed)).toEqual({ output: 'done' });
});
