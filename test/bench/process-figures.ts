/** What a process takes, as Linux counts it: CPU by the nanosecond, resident memory. */
import { readdirSync, readFileSync } from 'node:fs';

/**
 * CPU that all threads of a process have taken, in ms. A thread that ends in between takes its figure along;
 * the servers that are measured keep theirs.
 */
export function readCpuMs(pid: number): number {
  let nanoseconds = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const text = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8');
    nanoseconds += Number(text.split(' ', 1)[0]);
  }
  return nanoseconds / 1e6;
}

/** Resident memory of a process. */
export function readRssMb(pid: number): number {
  const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes) / 1_024;
}

/** The sum over several processes. */
export function sumOver(pids: readonly number[], read: (pid: number) => number): number {
  return pids.reduce((all, pid) => all + read(pid), 0);
}
