/** Whether a process is still there. */
import { spawnSync } from 'node:child_process';

/** A zombie has ended: in a container nobody may come to take note of it. */
export function isAlive(pid: number): boolean {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' });
  return stdout.trim() !== '' && !stdout.trim().startsWith('Z');
}
