/** A process that is nothing but an agent: it works until it is told to end. */
import { type Agent, createAgent, type StopOptions } from './agent.ts';
import type { AgentOptions } from './options.ts';

/** When and how the process ends. */
export type RunAgentOptions = StopOptions & {
  /** The signals that end it; SIGTERM and SIGINT unless told otherwise. */
  readonly signals?: readonly NodeJS.Signals[] | undefined;
  /** Told the agent before it starts. */
  readonly onAgent?: ((agent: Agent) => void) | undefined;
};

/**
 * Runs an agent until the process is told to end, then stops it in two stages, as `Agent.stop` does; a second signal
 * cuts both short. Resolves when it has stopped and nothing is open any more. Throws what `createAgent` and
 * `Agent.start` throw.
 */
export async function runAgent(options: AgentOptions, ending: RunAgentOptions = {}): Promise<void> {
  const { signals = ['SIGTERM', 'SIGINT'], onAgent, drainMs, graceMs } = ending;
  const agent = createAgent(options);
  onAgent?.(agent);
  let end = (): void => undefined;
  const stopped = new Promise<void>((resolve, reject) => {
    let limits: StopOptions = { drainMs, graceMs };
    end = () => {
      agent.stop(limits).then(resolve, reject);
      limits = { drainMs: 0, graceMs: 0 };
    };
  });
  for (const signal of signals) process.on(signal, end);
  try {
    await agent.start();
    await stopped;
  } finally {
    for (const signal of signals) process.off(signal, end);
  }
}
