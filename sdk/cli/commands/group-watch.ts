/**
 * Ends the programs of `agent exec` when the agent itself ends without being able to: by SIGKILL, SIGQUIT or
 * any other signal, or out of memory. A process of its own, a small shell script, holds one end of a pipe.
 * The system closes the other end when the agent is gone, whatever the reason. The script then sends SIGTERM
 * to the process groups that still run, and SIGKILL after the usual time. It is in a session of its own, so
 * nothing that is meant for the agent's terminal or process group ends it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { Socket } from 'node:net';

export type GroupWatch = {
  /** The process group of this id must end with this process. Resolves once the watch has the id. */
  add(pid: number): Promise<void>;
  /** The process group has ended. */
  remove(pid: number): void;
};

const SCRIPT = `
trap '' HUP INT QUIT TERM USR1 USR2 ALRM ABRT PIPE
groups=
while read -r verb group; do
  if [ "$verb" = add ]; then groups="$groups $group"; continue; fi
  rest=
  for one in $groups; do [ "$one" = "$group" ] || rest="$rest $one"; done
  groups=$rest
done
send() { for one in $groups; do kill -s "$1" -- "-$one" && found=1; done 2>/dev/null; }
send TERM
tenths=$1
while [ "$tenths" -gt 0 ]; do
  found=
  send 0
  [ "$found" ] || exit 0
  sleep 0.1 || break
  tenths=$((tenths - 1))
done
send KILL
`;
/** The name of the script in a list of processes. */
const NAME = 'task-gateway-group-watch';
/** A day: longer than anyone waits for a program whose agent is gone. */
const TENTHS_MAX = 864_000;

/**
 * Starts the watch. If its process ends, the next program starts another one. `onFailure` is called with the
 * reason if there can't be one; programs then run without it.
 */
export function startGroupWatch(killAfterMs: number, onFailure: (reason: string) => void): GroupWatch {
  const pids = new Set<number>();
  let shell = start();

  function start(): ChildProcess | undefined {
    const tenths = Math.min(Math.ceil(killAfterMs / 100), TENTHS_MAX);
    const started = spawn('/bin/sh', ['-c', SCRIPT, NAME, String(tenths)], {
      ...{ cwd: '/', detached: true, stdio: ['pipe', 'ignore', 'ignore'] },
    });
    started.on('error', (error) => onFailure(error.message));
    started.once('exit', () => {
      if (shell === started) shell = undefined;
    });
    // Its end shows as the end of the process.
    started.stdin?.on('error', () => undefined);
    // This process may end while the watch runs.
    started.unref();
    if (started.stdin instanceof Socket) started.stdin.unref();
    return started.pid === undefined ? undefined : started;
  }

  /** Resolves also if the watch is gone: the next program then starts another one. */
  function send(text: string): Promise<void> {
    return new Promise((resolve) => {
      if (shell?.stdin) shell.stdin.write(text, () => resolve());
      else resolve();
    });
  }

  return {
    async add(pid) {
      const isNew = shell === undefined;
      shell ??= start();
      pids.add(pid);
      const missing = isNew ? [...pids] : [pid];
      await send(missing.map((one) => `add ${one}\n`).join(''));
    },
    remove(pid) {
      pids.delete(pid);
      void send(`remove ${pid}\n`);
    },
  };
}
