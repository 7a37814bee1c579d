/** Plays the scenarios with a client, runs the checks on what they saw, and returns the verdicts. */
import { randomBytes } from 'node:crypto';
import { CLIENT_CHECKS } from './client-checks.ts';
import type { ClientScenarioName } from './client-scenarios.ts';
import type { Exchange } from './exchanges.ts';
import type { Fields } from './findings.ts';
import { createLook, type LookAt, type Played, playLooked } from './looked-scenarios.ts';
import type { Requirement } from './requirements.ts';
import {
  chooseRequirements,
  giveVerdict,
  isComplaint,
  joinRuns,
  type Run,
  type RunOptions,
  workThrough,
} from './run-checks.ts';
import type { Starter } from './started-command.ts';
import { type LookAtTrial, playTrial } from './trials-of-clients.ts';

export type ClientRunOptions = Pick<RunOptions, 'level' | 'only' | 'signal'> & {
  readonly starter: Starter;
  /** The payload of the tasks. */
  readonly payload?: Fields;
  /** How long the client may take for one task. */
  readonly limitMs?: number;
  /** How soon the client must reopen a stream that was cut. */
  readonly longMs?: number;
  readonly trialsAtOnce?: number;
  /** Whether to play once more, one trial after the other, what fails. Default: true. */
  readonly again?: boolean;
};

const LIMIT_MS = 20_000;
const LONG_MS = 3_000;
/** Few enough for the processes of two processors. */
const TRIALS_AT_ONCE = 10;
const DEFAULT_PAYLOAD = { text: 'A task of the conformance kit: 你好, naïve 🎉', list: [1, 'é', null, true] };

/** Never rejects: a failure of the kit is a verdict too. */
export async function runClientChecks(options: ClientRunOptions): Promise<Run> {
  const { again = true, signal } = options;
  const asked = chooseRequirements('client', options);
  const run = await runOnce(options, asked);
  const failed = run.verdicts.filter(isComplaint).map(({ requirement }) => requirement);
  const isWorth = failed.length > 0 && run.verdicts.some(({ outcome }) => outcome === 'pass');
  if (!again || !isWorth || signal?.aborted) return run;
  return joinRuns(run, await runOnce({ ...options, trialsAtOnce: 1 }, failed));
}

async function runOnce(options: ClientRunOptions, asked: readonly Requirement[]): Promise<Run> {
  const startedMs = performance.now();
  const { signal = new AbortController().signal, payload = DEFAULT_PAYLOAD } = options;
  const { limitMs = LIMIT_MS, longMs = LONG_MS } = options;
  const prefix = `kit-${randomBytes(4).toString('hex')}`;
  const played = new Map<ClientScenarioName, Played>();
  const check = (id: string, look: LookAt<ClientScenarioName>): void =>
    CLIENT_CHECKS[id]?.(look as LookAtTrial);
  const play = (name: ClientScenarioName): Promise<Played> =>
    playTrial(name, { starter: options.starter, prefix, payload, limitMs, longMs, signal }).then(
      (trial) => ({ seen: trial, exchanges: trial.gateway.exchanges }),
      (error: unknown) => ({ error, exchanges: [] }),
    );
  const begun = await play('plain');
  played.set('plain', begun);
  await playLooked(asked, played, check, (wanted) =>
    workThrough(wanted, options.trialsAtOnce ?? TRIALS_AT_ONCE, async (name) => {
      // A client that submits nothing ends in the same way in every scenario.
      played.set(name, 'error' in begun ? begun : await play(name));
    }),
  );
  const verdicts = asked.map((requirement) => {
    const looked = new Set<Exchange>();
    const run = CLIENT_CHECKS[requirement.id] && (() => check(requirement.id, createLook(played, looked)));
    return giveVerdict(requirement, run, signal, () => [...looked]);
  });
  return {
    verdicts: await Promise.all(verdicts),
    prefix,
    subjectVersion: null,
    seconds: (performance.now() - startedMs) / 1_000,
  };
}
