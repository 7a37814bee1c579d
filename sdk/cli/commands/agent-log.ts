/**
 * What `agent exec` logs: its tasks, and what fails. A failure that repeats itself in the same words is
 * logged once a minute, with how often it happened.
 */
import type { AgentNotice } from '../../agent/index.ts';
import { readMonotonicMs, systemClock } from '../../clock.ts';
import { ADDRESS_ADVICE, describeError } from '../exit-codes.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { logTaskLine } from './child-handler.ts';

export type AgentLog = {
  readonly logNotice: (notice: AgentNotice) => void;
  /** Says that there was no response so far, if nothing else has said so. */
  readonly logNoResponse: () => void;
  /** Whether the gateway has ever accepted the agent's registration. */
  isReached(): boolean;
  /** The latest failure, as a sentence; without one, that there was no response. */
  lastFailure(): string;
};

type Failures = { readonly text: string; readonly loggedMs: number; unlogged: number };

const REPEAT_EVERY_MS = 60_000;

/** Creates the log of one agent; `url` is the gateway's address. */
export function createAgentLog(terminal: Terminal, url: string): AgentLog {
  const failuresOf = new Map<string, Failures>();
  let isReached = false;
  let lastFailure = '';

  function logFailure(during: string, error: unknown): void {
    const { text } = describeError(error);
    lastFailure = text;
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
    lastFailure: () => lastFailure || `There was no response from ${url}. ${ADDRESS_ADVICE}`,
    logNoResponse() {
      if (isReached || lastFailure !== '') return;
      terminal.log(`There is no response from ${url} yet. The agent keeps trying. ${ADDRESS_ADVICE}`);
    },
    logNotice(notice) {
      switch (notice.kind) {
        case 'registered':
          isReached = true;
          failuresOf.clear();
          terminal.log(`Registered as ${notice.agent_id} (${notice.endpoint}). Press Ctrl-C to stop.`);
          return;
        case 'taken': {
          const { request_id, task_type } = notice.task;
          logTaskLine(terminal, request_id, `taken: ${task_type} ${request_id}`);
          return;
        }
        case 'reported': {
          const { request_id, accepted, status } = notice;
          const text = accepted ? status : `${status}, but the task already had an outcome`;
          logTaskLine(terminal, request_id, text);
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
