/**
 * Ends the programs of `agent exec` when the agent itself ends and can't do so: by SIGKILL, SIGQUIT or any
 * other signal, or out of memory. A process of its own, a small shell script, holds one end of a pipe. When
 * the agent is gone, whatever the reason, the system closes the other end. The script then sends SIGTERM to
 * the process groups that still run, and SIGKILL after the usual time. It is in a session of its own, so that
 * nothing meant for the agent's terminal or process group ends it.
 *
 * Before the agent starts a program, it passes on to the script an entry of the program's environment, which
 * no other program has. If the agent ends before it has passed on the program's id, the script finds the
 * program by this entry.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { Socket } from 'node:net';
import { checkFreeFiles, FILES_PER_START } from './executables.ts';

export type GroupWatch = {
  /**
   * Announces a program that will be started with this entry (`NAME=value`) in its environment. Returns a
   * promise only if the watch does not have it at once.
   */
  expect(entry: string): Promise<void> | undefined;
  /** Says that the expected program runs as this process group, which must end with this process. */
  add(pid: number, entry: string): void;
  /** Says that the expected program was not started. */
  forget(entry: string): void;
  /** Says that the process group has ended. */
  remove(pid: number): void;
};

/** For so many tenths of a second the script looks for a program that was being started. */
const SEARCHES = 20;
const SCRIPT = `
trap '' HUP INT QUIT TERM USR1 USR2 ALRM ABRT PIPE
groups=
expected=
without() {
  rest=
  for one in $2; do [ "$one" = "$1" ] || rest="$rest $one"; done
}
while read -r verb word group; do
  case $verb in
    expect) expected="$expected $word" ;;
    add) groups="$groups $group"; without "$word" "$expected"; expected=$rest ;;
    forget) without "$word" "$expected"; expected=$rest ;;
    remove) without "$word" "$groups"; groups=$rest ;;
  esac
done
list() {
  if [ -e /proc/self/environ ]; then grep -lF -- "$1" /proc/[0-9]*/environ
  else ps -Aww -E -o pid=,command= | grep -F -- "$1"
  fi 2>/dev/null | sed 's,^[^0-9]*\\([0-9]*\\).*,\\1,'
}
search() {
  for entry in $expected; do
    for one in $(list "$entry"); do
      kill -s TERM -- "-$one" 2>/dev/null || continue
      groups="$groups $one" tenths=$1
      without "$entry" "$expected"
      expected=$rest
    done
  done
}
send() { for one in $groups; do kill -s "$1" -- "-$one" && found=1; done 2>/dev/null; }
send TERM
tenths=$1
searches=${SEARCHES}
while [ "$tenths" -gt 0 ] || { [ "$expected" ] && [ "$searches" -gt 0 ]; }; do
  found=
  if [ "$expected" ] && [ "$searches" -gt 0 ]; then search "$1"; searches=$((searches - 1)); found=1; fi
  send 0
  [ "$found" ] || exit 0
  sleep 0.1 || break
  tenths=$((tenths - 1))
done
send KILL
`;
/** The name of the script in a list of processes. */
const NAME = 'task-gateway-group-watch';
/** A day: nobody waits longer for a program whose agent is gone. */
const TENTHS_MAX = 864_000;
/** Matches an entry that the script reads as one word. */
const WORD = /^[\w=.:-]+$/;

/**
 * Starts the watch. If its process ends, the next program starts another one. If there can't be one, calls
 * `onFailure` once with the reason; programs then run without a watch.
 */
export function startGroupWatch(
  killAfterMs: number,
  onFailure: (reason: string) => void,
  shell = '/bin/sh',
): GroupWatch {
  const pids = new Map<number, string>();
  const expected = new Set<string>();
  let isFailed = false;
  let watch = start();

  function start(): ChildProcess | undefined {
    if (!checkFreeFiles(FILES_PER_START)) {
      fail('there are no files for it');
      return undefined;
    }
    const tenths = Math.min(Math.ceil(killAfterMs / 100), TENTHS_MAX);
    const started = spawn(shell, ['-c', SCRIPT, NAME, String(tenths)], {
      cwd: '/',
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    started.on('error', (error) => fail(error.message));
    started.once('exit', (code) => {
      if (watch === started) watch = undefined;
      // Otherwise it ends only with this process.
      if (code) fail(`${shell} ended with exit code ${code}`);
    });
    // The end of the process tells the same.
    started.stdin?.on('error', () => undefined);
    // The watch must not keep this process alive.
    started.unref();
    if (started.stdin instanceof Socket) started.stdin.unref();
    return started.pid === undefined ? undefined : started;
  }

  function fail(reason: string): void {
    if (!isFailed) onFailure(reason);
    isFailed = true;
  }

  /** Resolves even if the watch is gone, because the next program starts another one. */
  function send(text: string): Promise<void> | undefined {
    const pipe = watch?.stdin;
    if (!pipe) return undefined;
    const written = new Promise<void>((resolve) => void pipe.write(text, () => resolve()));
    // If the system takes it at once, nobody need wait.
    return pipe.writableLength === 0 ? undefined : written;
  }

  return {
    expect(entry) {
      if (!WORD.test(entry)) return undefined;
      expected.add(entry);
      if (watch) return send(`expect ${entry}\n`);
      watch = start();
      const known = [...pids].map(([pid, word]) => `add ${word} ${pid}\n`);
      return send([...known, ...[...expected].map((one) => `expect ${one}\n`)].join(''));
    },
    add(pid, entry) {
      const word = WORD.test(entry) ? entry : '-';
      expected.delete(entry);
      pids.set(pid, word);
      void send(`add ${word} ${pid}\n`);
    },
    forget(entry) {
      if (expected.delete(entry)) void send(`forget ${entry}\n`);
    },
    remove(pid) {
      pids.delete(pid);
      void send(`remove ${pid}\n`);
    },
  };
}
