/**
 * `npm run bench`: what a task costs the gateway, against the bare node:http sketch, in alternating rounds of one run.
 * Machines are noisy: trust the ratios and the CPU per task. Options: `--rounds N --tasks N --in-flight N`.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Round, runRound, SECRET } from './lifecycle.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    tasks: { type: 'string', default: '4000' },
    'in-flight': { type: 'string', default: '64' },
  },
});
const rounds = Number(values.rounds);
const load = { tasks: Number(values.tasks), inFlight: Number(values['in-flight']) };
const ROOT = new URL('../..', import.meta.url).pathname;
const folder = mkdtempSync(join(tmpdir(), 'task-gateway-bench-'));

type Server = {
  readonly name: string;
  readonly url: string;
  readonly child: ChildProcess;
  readonly rounds: Round[];
};

const servers: Server[] = [];
process.on('exit', () => {
  for (const { child } of servers) child.kill('SIGKILL');
});
try {
  servers.push(await start('gateway, sqlite', 'server/main.ts', { STORE: `sqlite:${folder}/gateway.db` }));
  servers.push(await start('gateway, memory', 'server/main.ts', { STORE: 'memory:' }));
  servers.push(await start('bare node:http', 'test/bench/sketch.ts', {}));
  console.log(
    `${rounds} rounds of ${load.tasks} tasks, ${load.inFlight} in flight; Node ${process.version}, ${cpus().length} cores\n`,
  );
  // The first round of each compiles what the others run.
  for (const { url, child } of servers) await runRound(url, child.pid ?? 0, 'warm-up', load);
  for (let n = 0; n < rounds; n += 1) {
    for (const server of servers) {
      const pid = server.child.pid ?? 0;
      server.rounds.push(await runRound(server.url, pid, `bench-${n}`, load));
    }
  }
  printTable();
} finally {
  for (const { child } of servers) child.kill('SIGTERM');
  rmSync(folder, { recursive: true, force: true });
}

/** Starts a server on a free port and waits for the line that tells its address. */
async function start(name: string, file: string, env: Record<string, string>): Promise<Server> {
  const child = spawn(process.execPath, [join(ROOT, file)], {
    env: { ...process.env, GATEWAY_AUTH: SECRET, PORT: '0', LOG_LEVEL: 'info', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const url = await new Promise<string>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`${name} ended with ${code} before it listened`)));
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      const found = /http:\/\/127\.0\.0\.1:\d+/.exec(text);
      if (found) resolve(found[0]);
    });
  });
  return { name, url, child, rounds: [] };
}

function printTable(): void {
  const bare = servers.at(-1);
  if (!bare) return;
  console.log('| server | CPU per task, ms (min, median) | ÷ bare | tasks/s (median) | p50 ms | p99 ms |');
  console.log('|---|---|---|---|---|---|');
  for (const server of servers) {
    const cpu = server.rounds.map(({ cpuMs }) => cpuMs);
    const ratio = median(server.rounds.map(({ cpuMs }, n) => cpuMs / (bare.rounds[n]?.cpuMs ?? cpuMs)));
    const cells = [
      server.name,
      `${Math.min(...cpu).toFixed(3)}, ${median(cpu).toFixed(3)}`,
      ratio.toFixed(2),
      median(server.rounds.map(({ tasksPerSecond }) => tasksPerSecond)).toFixed(0),
      median(server.rounds.map(({ p50Ms }) => p50Ms)).toFixed(1),
      median(server.rounds.map(({ p99Ms }) => p99Ms)).toFixed(1),
    ];
    console.log(`| ${cells.join(' | ')} |`);
  }
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}
