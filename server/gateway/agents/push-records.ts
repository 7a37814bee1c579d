/**
 * The pushes to each agent that this process has seen: the last ones, and how many failed in a row. They are
 * kept in memory alone. When there are too many agents, the one pushed to longest ago is forgotten.
 */
import { createBoundedMap } from '../../async/bounded-map.ts';
import type { AgentPush } from '../../ports/admin.ts';
import type { PushOutcome } from '../../ports/pusher.ts';

/** How many pushes are kept for each agent. */
const PUSHES_MAX = 20;
/** How many agents are remembered, at about 4 KiB each. */
const AGENTS_MAX = 5_000;
/** Errors are cut to this length. */
const ERROR_CHARS_MAX = 200;

/**
 * The pushes to one agent. For example, `failures` is 2 if it took a push and failed to take the next two.
 */
type PushRecord = {
  /** Newest first. */
  readonly pushes: readonly AgentPush[];
  /** How many pushes have failed since the last one that the agent took or was too busy for. */
  readonly failures: number;
};

export type PushRecords = {
  /** Notes a push that has ended. */
  note(agent_id: string, push: EndedAttempt): void;
  find(agent_id: string): PushRecord;
};

type EndedAttempt = {
  readonly request_id: string;
  readonly outcome: PushOutcome;
  readonly nowMs: number;
  readonly tookMs: number;
};

const NO_RECORD: PushRecord = { pushes: [], failures: 0 };

export function createPushRecords(): PushRecords {
  const records = createBoundedMap<string, PushRecord>(AGENTS_MAX);
  return {
    find: (agent_id) => records.get(agent_id) ?? NO_RECORD,
    note(agent_id, attempt) {
      const { pushes, failures } = records.get(agent_id) ?? NO_RECORD;
      records.set(agent_id, {
        pushes: [describePush(attempt), ...pushes.slice(0, PUSHES_MAX - 1)],
        failures: isReached(attempt.outcome) ? 0 : failures + 1,
      });
    },
  };
}

function isReached(outcome: PushOutcome): boolean {
  return outcome.kind === 'acknowledged' || (outcome.kind === 'untaken' && outcome.busy);
}

const OUTCOMES = { acknowledged: 'taken', untaken: 'not_taken', unknown: 'unknown' } as const;

function describePush({ request_id, outcome, nowMs, tookMs }: EndedAttempt): AgentPush {
  return {
    time: nowMs / 1_000,
    request_id,
    outcome: OUTCOMES[outcome.kind],
    status: outcome.status,
    error: outcome.kind === 'acknowledged' ? null : outcome.error.slice(0, ERROR_CHARS_MAX),
    ms: Math.round(tookMs * 10) / 10,
  };
}
