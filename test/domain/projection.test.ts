/**
 * The entries of tasks in the indexes. The table is one text, the comment that opens `projection.ts`: each
 * cell of it is compared with what `entriesOf()` returns. What the commits of a task change, one after the
 * other, leads to the entries of its last state. And the entries of stored states are frozen in a file.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { claimableFromMs } from '../../server/domain/delivery.ts';
import { addHistory } from '../../server/domain/history.ts';
import {
  endingOf,
  entriesOf,
  type IndexChange,
  type IndexEntry,
  indexChanges,
} from '../../server/domain/projection.ts';
import { step } from '../../server/domain/step.ts';
import { createTaskState, isSettled, type TaskInput, type TaskState } from '../../server/domain/task.ts';
import { classifyTask } from '../../server/domain/task-counts.ts';
import type { Trigger } from '../../server/domain/triggers.ts';
import { batchFor, decideTransition } from '../../server/gateway/tasks/task-batch.ts';
import { printFigure } from '../harness/figures.ts';
import { DEPLOY, listAskingTriggers, listTriggers } from './every-trigger.ts';

const NOW = 1_000_000;
const STEPS = 5;
const TAGS = ['gpu', 'fr', 'gpu'];
const input: TaskInput = {
  request_id: 'r1',
  task_type: 'translate',
  task_tags: TAGS,
  payload: {},
  cli_session_id: 's1',
  create_time: NOW / 1_000,
  timeout: 60,
};
const fresh = createTaskState(input, { createdMs: NOW, deadlineMs: NOW + 60_000, queueEndMs: null }, 2);

function advance(state: TaskState, trigger: Trigger): TaskState {
  const decided = decideTransition('r1', { value: state, revision: '1' }, trigger, NOW + 5);
  if (decided.kind !== 'transition') throw new Error(`${trigger.type}: ${decided.kind}`);
  return decided.transition.after;
}

/** The states of the table's columns, reached by steps. `E` is an earlier agent. */
function buildStates(): Readonly<Record<string, TaskState>> {
  const withE = advance(fresh, { type: 'assign', agent_id: 'E', attempted: false, nextMs: NOW });
  const to = { agent_id: 'A', nextMs: NOW, agentGone: false } as const;
  const running = advance(withE, { type: 'reassign', ...to, attempted: true });
  return {
    P: fresh,
    PW: advance(fresh, { type: 'wait' }),
    R: running,
    RW: advance(running, { type: 'wait' }),
    RC: advance(withE, { type: 'reassign', ...to, attempted: false }),
    RQ: advance(running, { type: 'write', agent_id: 'A', questions: [DEPLOY] }),
    S: advance(running, { type: 'succeed', agent_id: 'A', result: {} }),
    F: advance(running, { type: 'fail', agent_id: 'A', error_info: 'boom', progress: null }),
  };
}

const STATES = buildStates();

/** The rows of the table, each as its cells; the first has the names of the columns. */
function readTable(): readonly (readonly string[])[] {
  const source = readFileSync(new URL('../../server/domain/projection.ts', import.meta.url), 'utf8');
  return source
    .slice(0, source.indexOf('*/'))
    .split('\n')
    .filter((line) => line.includes(' | '))
    .map((line) =>
      line
        .replace(/^ \* /, '')
        .split('|')
        .map((cell) => cell.trim()),
    );
}

/** The words of the column `of`. */
const OF: Readonly<Record<string, (state: TaskState) => readonly string[]>> = {
  '-': () => [''],
  session: ({ cli_session_id }) => [cli_session_id],
  'each agent': ({ assignees }) => assignees,
  pending: () => ['pending'],
  running: () => ['running'],
  outcome: (state) => [classifyTask(state)],
  'each tag, once': () => ['gpu', 'fr'],
  agent: ({ agent_id }) => [agent_id ?? 'no agent'],
};

/** The words of the column `order`: from when on an entry counts, and its time. */
const ORDER: Readonly<Record<string, (state: TaskState) => readonly [fromMs: number, atMs: number]>> = {
  created: ({ createdMs }) => [0, createdMs],
  'claimable from, assigned': (state) => [claimableFromMs(state) ?? -1, state.delivery?.assignedMs ?? -1],
  settled: ({ settledMs }) => [0, settledMs ?? -1],
  asked: ({ questions }) => [0, questions?.[0]?.askedMs ?? -1],
};

/** The entries of a row, if its cell in the state's column says `cell`. */
function readCell(row: readonly string[], column: number, state: TaskState, cell: string) {
  if (row[column + 2] !== cell) return [];
  const [index = '', of = ''] = row;
  const [fromMs, atMs] = ORDER[row.at(-1) ?? '']?.(state) ?? [];
  return (OF[of]?.(state) ?? []).map((one) => ({ index, of: one, fromMs, atMs }));
}

describe('the table of indexes', () => {
  const [header = [], ...rows] = readTable();

  test('has these columns, and says of each cell whether there is an entry', () => {
    expect(header).toEqual(['index', 'of', ...Object.keys(STATES), 'order']);
    for (const row of rows) expect(row.slice(2, -1).join(), row[0]).toMatch(/^((x|-|step),?){8}$/);
  });

  test.each(Object.entries(STATES))('says which entries %s has', (name, state) => {
    const column = Object.keys(STATES).indexOf(name);
    expect(entriesOf(state)).toEqual(rows.flatMap((row) => readCell(row, column, state, 'x')));
  });

  test.each([
    ['a cancelled task of an agent has one', 'R', { type: 'cancel' }, true],
    ['an agent that reports the end has none', 'R', { type: 'succeed', agent_id: 'A', result: {} }, false],
    [
      'the report of an earlier agent is not its own',
      'R',
      { type: 'succeed', agent_id: 'E', result: {} },
      true,
    ],
    ['a task without an agent has none', 'P', { type: 'abandon' }, false],
  ] as const)('says `step` where the step decides: %s', (_title, from, trigger, hasEntry) => {
    const before = STATES[from] ?? fresh;
    const after = advance(before, trigger);
    const column = Object.keys(STATES).indexOf(isSettled(after) && after.status === 'success' ? 'S' : 'F');
    const [write] = batchFor({
      request_id: 'r1',
      before: { value: before, revision: '1' },
      after,
      trigger,
    }).writes;
    const changes = write?.kind === 'task' ? write.index : [];
    const owned = { ...after, agent_id: before.agent_id };
    const added = rows.flatMap((row) => readCell(row, column, owned, 'step'));
    const expected = added.map((entry) => ({ op: 'add', ...entry, keepMs: 600_000 }));
    expect(changes.filter(({ index }) => index === 'unreported')).toEqual(hasEntry ? expected : []);
  });
});

type Changes = typeof indexChanges;
type Walk = { readonly states: number; readonly settled: number };
/** Where a walk begins, and the triggers that it tries at each time. */
type Trail = { readonly start: TaskState; listTriggers(nowMs: number): readonly Trigger[] };

/** From a task that was submitted just now, all that an agent may do but ask. */
const ALL: Trail = {
  start: fresh,
  listTriggers: (nowMs) => [...listTriggers(nowMs), { type: 'attempt', pull: true, nextMs: nowMs + 15_000 }],
};

/** From a task that runs on A, what becomes of questions. */
const ASKING: Trail = {
  start: STATES.R ?? fresh,
  listTriggers: listAskingTriggers,
};

/** From which time each entry counts, by its name. */
type Entries = ReadonlyMap<string, number>;

/** Changes the entries. Throws for what is added twice, or removed and not there. */
function applyChanges(entries: Entries, changes: readonly IndexChange[]): Entries {
  const changed = new Map(entries);
  for (const { op, fromMs, ...entry } of changes) {
    const name = nameEntry(entry);
    const isUseless = op === 'add' ? changed.get(name) === fromMs : !changed.delete(name);
    if (isUseless) throw new Error(`${op} ${name}`);
    if (op === 'add') changed.set(name, fromMs);
  }
  return changed;
}

function nameEntry({ index, of, atMs }: Omit<IndexEntry, 'fromMs'>): string {
  return JSON.stringify([index, of, atMs]);
}

/**
 * Follows every sequence of this many steps, each a second after the one before. Throws where the changes one
 * by one do not lead to the entries of the state.
 */
function walkStates(changesOf: Changes, steps: number, trail: Trail = ALL): Walk {
  const visited = new Set<string>();
  const { start } = trail;
  let frontier = [{ state: start, entries: applyChanges(new Map(), changesOf(undefined, start)) }];
  let settled = 0;
  for (let depth = 0; depth < steps; depth += 1) {
    const nowMs = NOW + depth * 1_000;
    const triggers = trail.listTriggers(nowMs);
    const next: typeof frontier = [];
    for (const { state, entries } of frontier) {
      for (const trigger of triggers) {
        const done = step(state, trigger, nowMs);
        if (!done.ok || done.state === state) continue;
        // Of the history only the ending matters here: the entries before it would tell equal states apart.
        const after = isSettled(done.state) ? addHistory(state, done.state, trigger, nowMs) : done.state;
        const reached = applyChanges(entries, changesOf(state, after));
        const expected = entriesOf(after);
        if (
          reached.size !== expected.length ||
          !expected.every((entry) => reached.get(nameEntry(entry)) === entry.fromMs)
        )
          throw new Error(`${trigger.type}: ${[...reached]} instead of ${expected.map(nameEntry)}`);
        const ending = endingOf('r1', state, after);
        if ((ending !== undefined) !== isSettled(after)) throw new Error(`${trigger.type}: its ending`);
        if (ending && ending.task.outcome !== classifyTask(after))
          throw new Error(`${trigger.type}: its outcome`);
        const name = JSON.stringify(after);
        if (visited.has(name)) continue;
        visited.add(name);
        if (isSettled(after)) settled += 1;
        else next.push({ state: after, entries: reached });
      }
    }
    frontier = next;
  }
  return { states: visited.size, settled };
}

describe('what the commits of a task change in the indexes', () => {
  test(`leads to the entries of its last state, after every sequence of ${STEPS} steps`, () => {
    const { states, settled } = walkStates(indexChanges, STEPS);
    printFigure('projection:states', states, 'states');
    expect(settled).toBeGreaterThan(100);
  });

  test.each<readonly [fault: string, changesOf: Changes]>([
    ['a write says nothing', () => []],
    [
      'a write says what the new state has, and not what the old one had',
      (_before, after) => indexChanges(undefined, after),
    ],
    ['nothing is ever removed', (...states) => indexChanges(...states).filter(({ op }) => op === 'add')],
    ['an entry keeps its place', (...states) => indexChanges(...states).filter(({ fromMs }) => fromMs === 0)],
  ])('would not if %s', (_fault, changesOf) => {
    expect(() => walkStates(changesOf, 4)).toThrow();
  });

  test(`leads to them also where it asks, after every sequence of ${STEPS} steps`, () => {
    const { states, settled } = walkStates(indexChanges, STEPS, ASKING);
    printFigure('projection:states that ask', states, 'states');
    expect(settled).toBeGreaterThan(100);
  });

  const isAnswerEntry = ({ index }: IndexChange): boolean => index === 'waiting-for-answer';
  test.each<readonly [fault: string, changesOf: Changes]>([
    [
      'a task that ends is asked on',
      (before, after) =>
        indexChanges(before, after).filter((one) => !(isSettled(after) && isAnswerEntry(one))),
    ],
    [
      'a task with an answer left to give keeps its place',
      (before, after) => {
        const changes = indexChanges(before, after);
        const isMoved = changes.filter(isAnswerEntry).length === 2;
        return changes.filter((one) => !(isMoved && isAnswerEntry(one)));
      },
    ],
    [
      'a withdrawn question waits on',
      (before, after) => {
        const isWithdrawn = after.questions?.some((one) => one.isWithdrawn) ?? false;
        return indexChanges(before, after).filter((one) => !(isWithdrawn && isAnswerEntry(one)));
      },
    ],
  ])('would not if %s', (_fault, changesOf) => {
    expect(() => walkStates(changesOf, 4, ASKING)).toThrow();
  });

  test('is nothing where a step changes nothing that is listed', () => {
    const running = STATES.R ?? fresh;
    const trigger = { type: 'progress', agent_id: 'A', progress: 40, reply: null } as const;
    expect(indexChanges(running, advance(running, trigger))).toEqual([]);
  });
});

describe('how a task ends', () => {
  const END = { request_id: 'r1', endedMs: NOW + 5, type: 'translate' };

  test('is said by the step that settles it alone', () => {
    const abandoned = advance(fresh, { type: 'abandon' });
    const noAgent = { outcome: 'no_agent', agent_id: null, error: abandoned.error_info };
    expect(endingOf('r1', fresh, abandoned)).toEqual({
      task: { ...END, ...noAgent },
      tookIndex: 7,
      noAgent: ['gpu', 'fr'],
    });
    expect(endingOf('r1', undefined, abandoned)).toEqual(endingOf('r1', fresh, abandoned));
    expect(endingOf('r1', abandoned, abandoned)).toBeUndefined();
    expect(endingOf('r1', fresh, STATES.R ?? fresh)).toBeUndefined();
    const task = { ...END, outcome: 'success', agent_id: 'A', error: null };
    expect(endingOf('r1', STATES.R, STATES.S ?? fresh)).toEqual({ task, tookIndex: 7, noAgent: [] });
  });
});

describe('the entries of stored states', () => {
  const golden = new URL('./projected-entries.json', import.meta.url);
  const stored: Readonly<Record<string, { state: TaskState; entries: readonly IndexEntry[] }>> = JSON.parse(
    readFileSync(golden, 'utf8'),
  );

  test.each(Object.entries(stored))('are the same for ever: %s', (_name, { state, entries }) => {
    expect(entriesOf(state)).toEqual(entries);
  });

  test('are frozen for a state of each column of the table', () => {
    expect(Object.keys(stored)).toEqual(expect.arrayContaining(Object.keys(STATES)));
  });
});
