/** Every trigger of a task, from and about either of two agents: for a search of all states. */
import type { Trigger } from '../../server/domain/triggers.ts';

const AGENTS = ['A', 'B'] as const;

/** The triggers, with times a little after this one. */
export function listTriggers(nowMs: number): readonly Trigger[] {
  return [
    { type: 'wait' },
    { type: 'stay' },
    { type: 'attempt', pull: false, nextMs: nowMs + 1 },
    { type: 'fetch' },
    { type: 'lose', seconds: 60 },
    { type: 'cancel' },
    { type: 'expire' },
    { type: 'abandon' },
    ...AGENTS.flatMap((agent_id): Trigger[] => [
      { type: 'assign', agent_id, attempted: true, nextMs: nowMs + 1 },
      { type: 'assign', agent_id, attempted: false, nextMs: nowMs + 1 },
      { type: 'untaken', agent_id, attempt: 1, nextMs: nowMs + 2, busyUntilMs: null },
      { type: 'untaken', agent_id, attempt: 2, nextMs: nowMs + 2, busyUntilMs: nowMs + 30_000 },
      { type: 'unknown', agent_id, attempt: 1, nextMs: nowMs + 2 },
      { type: 'acknowledge', agent_id, attempt: null },
      { type: 'acknowledge', agent_id, attempt: 1 },
      { type: 'disown', agent_id, attempts: 1 },
      { type: 'disown', agent_id, attempts: 2 },
      { type: 'reassign', agent_id, attempted: true, nextMs: nowMs + 1, agentGone: false },
      { type: 'reassign', agent_id, attempted: true, nextMs: nowMs + 1, agentGone: true },
      { type: 'progress', agent_id, progress: 40, reply: null },
      { type: 'progress', agent_id, progress: null, reply: 'soon' },
      { type: 'succeed', agent_id, result: null },
      { type: 'succeed', agent_id, result: { output: '好' } },
      { type: 'fail', agent_id, error_info: 'oops', progress: null },
    ]),
  ];
}

/** A question of agent A, its first piece. */
export const DEPLOY = { key: 'deploy', prompt: 'Deploy?', at: 0 } as const;
const COLOUR = { key: 'colour', prompt: 'Which colour?', at: 1 } as const;

/** What becomes of two questions of a task that runs on A, with times a little after this one. */
export function listAskingTriggers(nowMs: number): readonly Trigger[] {
  const write = { type: 'write', agent_id: 'A' } as const;
  return [
    { ...write, isSameWriter: true, questions: [DEPLOY] },
    { ...write, isSameWriter: true, questions: [COLOUR] },
    { ...write, questions: [DEPLOY, COLOUR] },
    write,
    { type: 'answer', key: DEPLOY.key, answer: 'yes' },
    { type: 'answer', key: COLOUR.key, answer: 'blue' },
    { type: 'disown', agent_id: 'A', attempts: 1 },
    { type: 'acknowledge', agent_id: 'A', attempt: null },
    { type: 'reassign', agent_id: 'E', attempted: true, nextMs: nowMs + 1, agentGone: true },
    { type: 'wait' },
    { type: 'progress', agent_id: 'A', progress: 40, reply: null },
    { type: 'succeed', agent_id: 'A', result: null },
    { type: 'cancel' },
  ];
}
