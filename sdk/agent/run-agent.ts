/** Runs an agent as a whole process, until a signal of the process ends it. */
import type { FreeForm, JsonObject, JsonResult, TaskResult } from '../contract.ts';
import { runCallback } from '../log.ts';
import { type Agent, createAgent, type StopOptions, untilStopped } from './agent.ts';
import { createEventLog, type LogEvent } from './log-events.ts';
import type { AgentOptions } from './options.ts';

/** Which signals of the process stop the agent, and how long that may take. */
export type RunAgentOptions = StopOptions & {
  /** The signals that stop the agent. Default: SIGTERM and SIGINT. */
  readonly signals?: readonly NodeJS.Signals[] | undefined;
  /** Called with the agent before it starts. */
  readonly onAgent?: ((agent: Agent) => void) | undefined;
};

/**
 * Runs an agent until a signal of the process comes, then stops it in two stages, as `Agent.stop` does. A
 * second signal cuts both stages short. Resolves when the agent has stopped and has nothing open any more,
 * even if the caller stopped it. Throws what `createAgent` and `Agent.start` throw, and an `AbortError` at
 * once when the caller's own `signal` fires. A rejected promise that no code handles ends neither the process
 * nor the other tasks: it is printed, and `onNotice` gets a `failure`. If the process itself listens for
 * `unhandledRejection`, only its listener decides.
 */
export async function runAgent<Payload extends JsonObject = FreeForm, Result extends JsonResult = TaskResult>(
  options: AgentOptions<Payload, Result>,
  ending: RunAgentOptions = {},
): Promise<void> {
  const { signals = ['SIGTERM', 'SIGINT'], onAgent, drainMs, graceMs } = ending;
  const agent = createAgent(options);
  const { stop: stopAgent } = agent;
  const { signal } = options;
  let stop = (): void => undefined;
  const stopped = new Promise<void>((resolve, reject) => {
    let limits: StopOptions = { drainMs, graceMs };
    // The caller has the agent too, and may stop it.
    agent.stop = async (given) => {
      await stopAgent(given).catch((error: unknown) => {
        if (agent.state === 'stopped') reject(error);
        throw error;
      });
      resolve();
    };
    stop = () => {
      agent.stop(limits).catch(reject);
      limits = { drainMs: 0, graceMs: 0 };
    };
  });
  onAgent?.(agent);
  // It is awaited only once the agent has started; until then a rejection must not end the process.
  stopped.catch(() => undefined);
  const stopCatching = catchRejections(createEventLog(options.onNotice));
  for (const one of signals) process.on(one, stop);
  const release = (): void => {
    for (const one of signals) process.off(one, stop);
    stopCatching();
  };
  try {
    await agent.start();
    await untilStopped(signal, stopAgent, () => stopped);
  } finally {
    // An aborted agent still has to stop; until then it obeys the signals of the process.
    if (signal?.aborted) agent.stop().then(release, release);
    else release();
  }
}

/** Logs rejections that no code handles, unless the process itself handles them. */
function catchRejections(logEvent: LogEvent): () => void {
  if (process.listenerCount('unhandledRejection') > 0) return () => undefined;
  const report = (error: unknown): void => {
    runCallback('a promise that no code handles', () => {
      logEvent({ kind: 'failure', during: 'handler', error });
      throw error;
    });
  };
  process.on('unhandledRejection', report);
  return () => void process.off('unhandledRejection', report);
}
