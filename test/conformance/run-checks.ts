/** Runs the checks against a gateway, several at a time, and returns the verdict on each requirement. */

import { ADMIN_OPERATION_CHECKS } from './admin-operation-checks.ts';
import { AGENT_OPERATION_CHECKS } from './agent-operation-checks.ts';
import { AGENT_STATE_CHECKS } from './agent-state-checks.ts';
import { BROWSER_CHECKS } from './browser-checks.ts';
import { CALL_CHECKS } from './call-checks.ts';
import type { Check } from './check.ts';
import { CHOICE_CHECKS } from './choice-checks.ts';
import { CLIENT_OPERATION_CHECKS } from './client-operation-checks.ts';
import { DELIVERY_CHECKS } from './delivery-checks.ts';
import { ERROR_CHECKS } from './error-checks.ts';
import {
  type Exchange,
  type Exchanges,
  type Explanation,
  explainFinding,
  keepExchanges,
  listExchanges,
} from './exchanges.ts';
import { FIELD_CHECKS } from './field-checks.ts';
import { FILTER_CHECKS } from './filter-checks.ts';
import { Finding, NotScored, requireThat } from './findings.ts';
import { FIVE_CALLS_CHECKS } from './five-calls-checks.ts';
import { GUARANTEE_CHECKS } from './guarantee-checks.ts';
import { INTRODUCTION_CHECKS } from './introduction-checks.ts';
import { createKit, type Kit, type KitOptions } from './kit.ts';
import { LIMIT_CHECKS } from './limit-checks.ts';
import { MOVING_CHECKS } from './moving-checks.ts';
import { NUMBER_CHECKS } from './number-checks.ts';
import { ORDER_CHECKS } from './order-checks.ts';
import { OUTPUT_CHECKS } from './output-checks.ts';
import { PATH_CHECKS } from './path-checks.ts';
import { QUESTION_CHECKS } from './question-checks.ts';
import { REQUIREMENTS, type Requirement } from './requirements.ts';
import { SECRET_CHECKS } from './secret-checks.ts';
import { SIGNATURE_CHECKS } from './signature-checks.ts';
import { SLOW_CHECKS } from './slow-checks.ts';
import { TASK_CHECKS } from './task-checks.ts';
import { TRANSITION_CHECKS } from './transition-checks.ts';

/**
 * `error`: the kit itself failed, which counts neither for nor against the subject. `not_run`: the run ended
 * earlier.
 */
export type Outcome = 'pass' | 'fail' | 'warn' | 'not_scored' | 'error' | 'not_run';

export type Verdict = Partial<Explanation> & {
  readonly requirement: Requirement;
  readonly outcome: Outcome;
  /** What was seen, why it is not scored, or what failed in the kit; empty for most passes. */
  readonly detail: string;
};

export type Run = {
  readonly verdicts: readonly Verdict[];
  /** Why the rest was not run. */
  readonly stopped?: string;
  readonly prefix: string;
  readonly subjectVersion: string | null;
  readonly seconds: number;
};

export type RunOptions = KitOptions & {
  /** Checks only requirements of this level; by default of all. */
  readonly level?: Requirement['level'];
  /** Checks only requirements whose ids begin so. */
  readonly only?: string;
  /** Whether to make checks that take longer than ten seconds, all of them at the same time. */
  readonly slow?: boolean;
  /** Makes one check after the other, and stops at the first that fails. */
  readonly first?: boolean;
  /** Whether to check once more, alone, what fails. Default: true. */
  readonly again?: boolean;
  /** Ends the run. What was not checked by then is an error of the kit. */
  readonly signal?: AbortSignal;
};

/** Every quick check, by the id of its requirement. */
export const CHECKS: Readonly<Record<string, Check>> = {
  ...TASK_CHECKS,
  ...CALL_CHECKS,
  ...INTRODUCTION_CHECKS,
  ...TRANSITION_CHECKS,
  ...ORDER_CHECKS,
  ...SECRET_CHECKS,
  ...ERROR_CHECKS,
  ...GUARANTEE_CHECKS,
  ...LIMIT_CHECKS,
  ...NUMBER_CHECKS,
  ...BROWSER_CHECKS,
  ...PATH_CHECKS,
  ...CLIENT_OPERATION_CHECKS,
  ...AGENT_OPERATION_CHECKS,
  ...ADMIN_OPERATION_CHECKS,
  ...SIGNATURE_CHECKS,
  ...AGENT_STATE_CHECKS,
  ...CHOICE_CHECKS,
  ...DELIVERY_CHECKS,
  ...MOVING_CHECKS,
  ...FIVE_CALLS_CHECKS,
  ...OUTPUT_CHECKS,
  ...QUESTION_CHECKS,
  ...FIELD_CHECKS,
  ...FILTER_CHECKS,
};

/** Few enough for a gateway that limits its callers. */
const CHECKS_AT_ONCE = 12;
/** How many causes of failures are checked once more. */
const AGAIN_MAX = 5;

/** Never rejects: a failure of the kit is a verdict too. */
export async function runChecks(options: RunOptions): Promise<Run> {
  const startedMs = performance.now();
  const { first = false, again = !first } = options;
  const kit = createKit(options);
  const asked = chooseRequirements('gateway', options);
  const verdicts = new Map<Requirement, Verdict>();
  let stopped = await checkAll(kit, asked, options, verdicts);
  if (again) stopped ??= await checkAgain(verdicts, options);
  return {
    verdicts: asked.map((requirement) => verdicts.get(requirement) as Verdict),
    ...(stopped === undefined ? {} : { stopped }),
    prefix: kit.prefix,
    subjectVersion: kit.subject.version(),
    seconds: (performance.now() - startedMs) / 1_000,
  };
}

/** Gives the verdict on each requirement. Returns why the rest was not run. */
async function checkAll(
  kit: Kit,
  asked: readonly Requirement[],
  options: RunOptions,
  verdicts: Map<Requirement, Verdict>,
): Promise<string | undefined> {
  const { signal = new AbortController().signal, first = false } = options;
  const isSlow = ({ id }: Requirement): boolean => id in SLOW_CHECKS;
  let stopped: string | undefined;
  const end = (): void => kit.close();
  signal.addEventListener('abort', end);
  const take = async (one: Requirement): Promise<void> => {
    const exchanges: Exchanges = { own: [], seen: new Set() };
    const check = stopped === undefined ? bindCheck(one, kit, broken, options) : undefined;
    const run =
      check && (() => keepExchanges(check, exchanges).then(() => requireDocumented(one, exchanges)));
    const verdict = await giveVerdict(one, run, signal, () => listExchanges(exchanges));
    const silence = kit.subject.silence();
    const isGone = silence !== undefined && !signal.aborted && isComplaint(verdict);
    const isRest = stopped !== undefined && (isGone || (check === undefined && hasCheck(one)));
    if (isRest) verdicts.set(one, { requirement: one, outcome: 'not_run', detail: String(stopped) });
    else verdicts.set(one, isGone ? { ...verdict, outcome: 'fail' } : verdict);
    if (isGone)
      stopped ??= `No response since check ${verdicts.size} of ${asked.length}, ${one.id} (sent ${silence}).`;
    if (first && verdict.outcome === 'fail') stopped ??= `It stopped at the first that failed, ${one.id}.`;
  };
  const broken = await prepare(kit);
  try {
    const quick = asked.filter((one) => !isSlow(one));
    const slow = asked.filter(isSlow);
    if (first) await workThrough([...quick, ...slow], 1, take);
    else await Promise.all([workThrough(quick, CHECKS_AT_ONCE, take), ...slow.map(take)]);
    const isReached = broken === undefined && kit.subject.silence() === undefined;
    if (isReached && !signal.aborted) await kit.leave();
  } finally {
    signal.removeEventListener('abort', end);
    kit.close();
  }
  return stopped;
}

/**
 * Checks alone what failed beside other checks, because on a busy machine it may have come too late. Of
 * several failures with one cause it checks the others only if the first passes. Returns why it could not.
 */
async function checkAgain(
  verdicts: Map<Requirement, Verdict>,
  options: RunOptions,
): Promise<string | undefined> {
  const failed = [...verdicts.values()].filter(isComplaint);
  const confirmed = new Set<string | undefined>();
  for (const former of failed) {
    const { requirement, cause } = former;
    if (confirmed.size >= AGAIN_MAX || options.signal?.aborted) return undefined;
    if (confirmed.has(cause)) continue;
    const alone = new Map<Requirement, Verdict>();
    const stopped = await checkAll(createKit(options), [requirement], options, alone);
    if (stopped !== undefined) return stopped;
    const verdict = alone.get(requirement);
    if (verdict?.outcome === 'pass') verdicts.set(requirement, { ...verdict, detail: sayRepeated(former) });
    else confirmed.add(cause);
  }
  return undefined;
}

/** Joins a run with another one that checked its failures alone: what passed there is a pass that says so. */
export function joinRuns(run: Run, alone: Run): Run {
  const passed = alone.verdicts.filter(({ outcome }) => outcome === 'pass');
  const verdicts = run.verdicts.map((one) => {
    const again = passed.find(({ requirement }) => requirement.id === one.requirement.id);
    return again && isComplaint(one) ? { ...again, detail: sayRepeated(one) } : one;
  });
  return { ...run, verdicts, seconds: run.seconds + alone.seconds };
}

const sayRepeated = ({ detail }: Verdict): string => `Failed once, passed alone: ${detail}`;

/** Whether a requirement does not hold. */
export function isComplaint({ outcome }: Verdict): boolean {
  return outcome === 'fail' || outcome === 'warn';
}

/** Returns why nothing can be asked of the subject or of the kit; undefined if all is well. */
async function prepare(kit: Kit): Promise<unknown> {
  try {
    await kit.start();
    await kit.subject.call('GET', '/');
    return undefined;
  } catch (error) {
    return error;
  }
}

/** Whether a check looks at a requirement. */
export function hasCheck({ id, checked_by = id }: Requirement): boolean {
  return checked_by in CHECKS || checked_by in SLOW_CHECKS;
}

/** Returns the check of a requirement, if any. If nothing can be asked, the check throws the reason. */
function bindCheck(
  { id, checked_by = id }: Requirement,
  kit: Kit,
  broken: unknown,
  { slow = false }: RunOptions,
): (() => Promise<void>) | undefined {
  const long = SLOW_CHECKS[checked_by];
  const check = CHECKS[checked_by] ?? long?.check;
  return (
    check &&
    (async () => {
      if (long && !slow) throw new NotScored(`It takes ${long.seconds} s: give --slow.`);
      if (broken !== undefined) throw broken;
      // The check runs once for all requirements that it covers.
      await kit.see(check);
    })
  );
}

/** Requires that responses of an operation to its own checks are as the document says. */
function requireDocumented({ id }: Requirement, exchanges: Exchanges): void {
  const [operationId] = id.split('.');
  const [first] = listExchanges(exchanges).flatMap(({ mismatch = { operationId: '', text: '' } }) =>
    mismatch.operationId === operationId ? [mismatch.text] : [],
  );
  requireThat(first === undefined, String(first));
}

/** Does the work for each item in turn, for several at the same time. */
export async function workThrough<Item>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const waiting = [...items];
  const run = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await work(next);
  };
  await Promise.all(Array.from({ length: atOnce }, run));
}

/** Returns the requirements of a role that a run asks about. */
export function chooseRequirements(
  role: Requirement['role'],
  { level, only = '' }: Pick<RunOptions, 'level' | 'only'>,
): readonly Requirement[] {
  return REQUIREMENTS.filter(
    (one) => one.role === role && one.id.startsWith(only) && (level === undefined || one.level === level),
  );
}

/** Runs a check; returns the verdict on its requirement, which without a check says why there is none. */
export async function giveVerdict(
  requirement: Requirement,
  check: (() => void | Promise<void>) | undefined,
  signal: AbortSignal,
  exchanges: () => readonly Exchange[] = () => [],
): Promise<Verdict> {
  if (requirement.not_scored !== undefined || !check) {
    const detail = requirement.not_scored ?? 'No check looks at it.';
    return { requirement, outcome: 'not_scored', detail };
  }
  try {
    signal.throwIfAborted();
    await check();
    return { requirement, outcome: 'pass', detail: '' };
  } catch (error) {
    const found = error instanceof Finding ? explainFinding(error, exchanges()) : {};
    return { requirement, ...found, ...describeEnd(error, requirement, signal) };
  }
}

/** Returns the verdict on a check that threw. */
function describeEnd(
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
