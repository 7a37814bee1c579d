/** Runs the checks against a gateway, several at a time; the verdict on each requirement. */
import { CALL_CHECKS } from './call-checks.ts';
import type { Check } from './check.ts';
import { Finding, NotScored } from './findings.ts';
import { createKit, type Kit, type KitOptions } from './kit.ts';
import { ORDER_CHECKS } from './order-checks.ts';
import { PATH_CHECKS } from './path-checks.ts';
import { REQUIREMENTS, type Requirement } from './requirements.ts';
import { SECRET_CHECKS } from './secret-checks.ts';
import { TASK_CHECKS } from './task-checks.ts';
import { TRANSITION_CHECKS } from './transition-checks.ts';

/** `error`: the kit itself failed, which counts neither for nor against the subject. */
export type Outcome = 'pass' | 'fail' | 'warn' | 'not_scored' | 'error';

export type Verdict = {
  readonly requirement: Requirement;
  readonly outcome: Outcome;
  /** What was seen, why it is not scored, or what failed in the kit; empty for a pass. */
  readonly detail: string;
};

export type Run = {
  readonly verdicts: readonly Verdict[];
  readonly prefix: string;
  readonly subjectVersion: string | null;
  readonly seconds: number;
};

export type RunOptions = KitOptions & {
  /** Only requirements of this level; of all where it is absent. */
  readonly level?: Requirement['level'];
  /** Only requirements whose ids begin so. */
  readonly only?: string;
  /** Ends the run: what was not checked by then is an error of the kit. */
  readonly signal?: AbortSignal;
};

/** Every check, by the id of the requirement that it looks at. */
export const CHECKS: Readonly<Record<string, Check>> = {
  ...TASK_CHECKS,
  ...CALL_CHECKS,
  ...TRANSITION_CHECKS,
  ...ORDER_CHECKS,
  ...SECRET_CHECKS,
  ...PATH_CHECKS,
};

/** Few enough for a gateway that bounds its callers. */
const CHECKS_AT_ONCE = 12;

/** Never rejects: what fails in the kit is a verdict too. */
export async function runChecks(options: RunOptions): Promise<Run> {
  const startedMs = performance.now();
  const { level, only = '', signal = new AbortController().signal } = options;
  const kit = createKit(options);
  signal.addEventListener('abort', () => kit.close());
  const asked = REQUIREMENTS.filter(
    (one) =>
      one.role === 'gateway' && one.id.startsWith(only) && (level === undefined || one.level === level),
  );
  const verdicts = new Map<Requirement, Verdict>();
  const waiting = [...asked];
  try {
    const dead = await prepare(kit);
    const work = async (): Promise<void> => {
      for (let next = waiting.shift(); next; next = waiting.shift())
        verdicts.set(next, await check(kit, next, dead, signal));
    };
    await Promise.all(Array.from({ length: CHECKS_AT_ONCE }, work));
    if (dead === undefined && !signal.aborted) await kit.leave();
  } finally {
    kit.close();
  }
  return {
    verdicts: asked.map((requirement) => verdicts.get(requirement) as Verdict),
    prefix: kit.prefix,
    subjectVersion: kit.subject.version(),
    seconds: (performance.now() - startedMs) / 1_000,
  };
}

/** Returns why nothing can be asked of the subject or of the kit; undefined where all is well. */
async function prepare(kit: Kit): Promise<unknown> {
  try {
    await kit.start();
    await kit.subject.call('GET', '/');
    return undefined;
  } catch (error) {
    return error;
  }
}

async function check(
  kit: Kit,
  requirement: Requirement,
  dead: unknown,
  signal: AbortSignal,
): Promise<Verdict> {
  const run = CHECKS[requirement.id];
  if (requirement.not_scored !== undefined || !run) {
    const detail = requirement.not_scored ?? 'No check looks at it.';
    return { requirement, outcome: 'not_scored', detail };
  }
  try {
    if (dead !== undefined) throw dead;
    signal.throwIfAborted();
    await run(kit);
    return { requirement, outcome: 'pass', detail: '' };
  } catch (error) {
    return { requirement, ...describeEnd(error, requirement, signal) };
  }
}

/** The verdict on a check that threw. */
export function describeEnd(
  error: unknown,
  { strength }: Requirement,
  signal: AbortSignal,
): Omit<Verdict, 'requirement'> {
  const detail = error instanceof Error ? error.message : String(error);
  if (signal.aborted) return { outcome: 'error', detail: 'The run was ended before it was checked.' };
  if (error instanceof NotScored) return { outcome: 'not_scored', detail };
  if (error instanceof Finding) return { outcome: strength === 'must' ? 'fail' : 'warn', detail };
  return { outcome: 'error', detail: error instanceof Error ? (error.stack ?? detail) : detail };
}
