/**
 * The log of `agent exec`: its tasks, and its failures. A failure that repeats itself in the same words is
 * logged once a minute, with how often it happened.
 */
import { describeDrain, describeSupply } from '../../agent/agent-log.ts';
import { isOutage } from '../../agent/gateway-contact.ts';
import type { AgentNotice } from '../../agent/index.ts';
import { readMonotonicMs, systemClock } from '../../clock.ts';
import { adviseAddress, describeError } from '../exit-codes.ts';
import { putLastFirst } from '../terminal/safe-text.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { logTaskLine } from './child-handler.ts';

export type AgentLog = {
  readonly logNotice: (notice: AgentNotice) => void;
  /** Whether the gateway has accepted a registration of the agent yet. */
  isReached(): boolean;
  /** Returns the latest failure as a sentence; without one, a sentence that there was no response. */
  lastFailure(): string;
};

/** What the agent registers, besides its id and endpoint. */
export type AgentDescription = {
  /** The gateway's address. */
  readonly url: string;
  readonly tags: readonly string[];
  readonly slots: number;
};

type Failures = { readonly text: string; readonly loggedMs: number; unlogged: number };

const REPEAT_EVERY_MS = 60_000;
const STOP_ADVICE = 'Press Ctrl-C to stop.';

export function createAgentLog(terminal: Terminal, { url, tags, slots }: AgentDescription): AgentLog {
  const failuresOf = new Map<string, Failures>();
  let isReached = false;
  let lastFailure = '';

  function logFailure(during: string, error: unknown): void {
    const { text } = describeError(error);
    lastFailure = text;
    if (isOutage(error)) return;
    const nowMs = readMonotonicMs(systemClock);
    const before = failuresOf.get(during);
    if (before?.text === text && nowMs - before.loggedMs < REPEAT_EVERY_MS) {
      before.unlogged += 1;
      return;
    }
    failuresOf.set(during, { text, loggedMs: nowMs, unlogged: 0 });
    const times = before?.text === text ? ` (${before.unlogged + 1} more times in the last minute)` : '';
    const next = isReached || during !== 'register' ? '' : ' The agent keeps trying.';
    terminal.log(`${during}: ${text}${times}${next}`);
  }

  return {
    isReached: () => isReached,
    lastFailure: () => lastFailure || `There was no response from ${url}. ${adviseAddress()}`,
    logNotice(notice) {
      switch (notice.kind) {
        case 'registered':
          isReached = true;
          failuresOf.clear();
          terminal.log(
            `Registered as ${notice.agent_id} (${notice.endpoint}) at ${url} with ${describeSupply(tags, slots)}. ${STOP_ADVICE}`,
          );
          return;
        case 'unreachable': {
          const span = notice.seconds === 0 ? '' : ` That has lasted for ${notice.seconds} s.`;
          terminal.log(`${describeError(notice.error).text}${span} The agent keeps trying.`);
          return;
        }
        case 'reached':
          terminal.log(`The gateway at ${url} responds again, after ${notice.seconds} s.`);
          return;
        case 'drained':
        case 'undrained':
          terminal.log(`The agent is ${describeDrain(notice.kind)}.`);
          return;
        case 'taken': {
          const { request_id, task_type } = notice.task;
          logTaskLine(terminal, request_id, `taken: ${task_type} ${request_id}`);
          return;
        }
        case 'reported': {
          const { request_id, accepted, status, error_info } = notice;
          const late = accepted ? '' : ', but the task already had an outcome';
          const why = error_info === null ? '' : `: ${putLastFirst(error_info)}`;
          logTaskLine(terminal, request_id, `${status}${late}${why}`);
          return;
        }
        case 'dropped':
          logTaskLine(terminal, notice.request_id, `dropped: ${notice.reason}`);
          return;
        case 'failure':
          logFailure(notice.during, notice.error);
      }
    },
  };
}
