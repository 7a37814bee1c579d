/** Whether a process is still there. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** A zombie has ended: in a container nobody may come to take note of it. */
export function isAlive(pid: number): boolean {
  const state = process.platform === 'linux' ? readState(pid) : askState(pid);
  return state !== '' && !state.startsWith('Z');
}

/** The state stands behind the name, which may hold anything. */
function readState(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2);
  } catch {
    return '';
  }
}

function askState(pid: number): string {
  return spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).stdout.trim();
}
