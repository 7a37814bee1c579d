/**
 * Encodes a batch for the commit script. Each thing that the batch checks or changes is one operation: a
 * letter and the number of its arguments, in the table of `scripts/operations.lua`. Redis parses only tags
 * and assignees, because the JSON of Lua would change numbers and empty lists of other values.
 *
 * For example, the commit of a task's progress is `T1U2`: T with the task's position, U with the expected
 * revision and the new state.
 */

import { writeEnded } from '../../../domain/ended-task.ts';
import { writeJson } from '../../../domain/json-text.ts';
import type { IndexChange } from '../../../domain/projection.ts';
import { isNeeded, type OutputChange } from '../../../ports/output.ts';
import {
  type Batch,
  type DueChange,
  isAdmission,
  type Revision,
  type TaskWrite,
  type Write,
} from '../../../ports/store.ts';
import { joinPieces } from '../../pieces.ts';

export type EncodedCommit = {
  readonly args: readonly string[];
  /** The bytes of the arguments in UTF-8. */
  readonly size: number;
  /**
   * Whether it adds a task, an agent, or output of an agent. Such a commit is refused while memory is nearly
   * full.
   */
  readonly isAdmission: boolean;
  readonly hasOutput: boolean;
  /** Whether it changes an output and nothing else. */
  readonly isOutputAlone: boolean;
  /** The topics to notify. A topic may come twice. */
  readonly topics: readonly string[];
};

/** The revision of a commit, and its time limit. */
type CommitName = {
  readonly revision: Revision;
  /** From this store time on the caller has given up. */
  readonly notAfterMs: number;
};

/** Encodes a batch in this order: writes, due entries, slots, other checks, output, event. */
export function encodeCommit(batch: Batch, name: CommitName): EncodedCommit {
  const list = new OperationList(batch, name.revision);
  for (const write of batch.writes) addWrite(list, write);
  if (batch.due) for (const change of batch.due) addDueChange(list, change);
  if (batch.slots) {
    for (const slot of batch.slots) {
      list.beginTask(slot.request_id);
      if (slot.op === 'grant') list.add('G2', slot.agent_id, slot.registration);
      else list.add('R1', slot.agent_id);
      list.topics.push(`agent:${slot.agent_id}`);
    }
  }
  addChecks(list, batch);
  if (batch.output) addOutput(list, batch.output);
  if (batch.event) {
    list.beginTask(batch.event.request_id);
    list.add('e1', batch.event.session);
    list.topics.push(`feed:${batch.event.session}`);
  }
  const args = list.finish(name.notAfterMs);
  let size = 0;
  for (const arg of args) size += Buffer.byteLength(arg);
  const hasOutput = batch.output !== undefined;
  const isOutputAlone = hasOutput && batch.writes.length === 0;
  const { by, pieces = [] } = batch.output?.append ?? {};
  const writes = by !== undefined && pieces.some((piece) => piece !== '');
  const isAdmitting = isAdmission(batch) || writes;
  return { args, size, isAdmission: isAdmitting, hasOutput, isOutputAlone, topics: list.topics };
}

class OperationList {
  /** By how much the commit changes the number of open tasks, and of agents. */
  addedTasks = 0;
  addedAgents = 0;
  readonly topics: string[] = [];
  readonly #args: string[];
  readonly #batch: Batch;
  #operations = '';
  /** The task that the next operations are about, and its position. */
  #request_id: string | null = null;
  #position = '';

  constructor(batch: Batch, revision: Revision) {
    this.#batch = batch;
    // `finish()` sets the first item.
    this.#args = ['', revision];
  }

  add(operation: string, ...args: readonly string[]): void {
    this.#operations += operation;
    for (const arg of args) this.#args.push(arg);
  }

  /** Makes the operations that follow be about this task. */
  beginTask(request_id: string): void {
    if (this.#request_id !== request_id)
      this.beginPosition(request_id, positionOf(this.#createdMs(request_id), request_id));
  }

  /** As `beginTask()`, for an index that orders the task by another time. */
  beginPosition(request_id: string, position: string): void {
    if (this.#request_id === request_id && this.#position === position) return;
    this.#request_id = request_id;
    this.#position = position;
    this.add('T1', position);
  }

  /** Makes the changes of a due entry that follow be about this agent. */
  beginDueOfAgent(agent_id: string): void {
    this.#request_id = null;
    this.add('J1', agent_id);
  }

  finish(notAfterMs: number): readonly string[] {
    const length = this.#args.length - 2;
    this.#args[0] = `${notAfterMs} ${length} ${this.#operations}`;
    return this.#args;
  }

  /** 0 for a task that the batch does not write: no operation needs that task's time. */
  #createdMs(request_id: string): number {
    for (const { kind, id, value } of this.#batch.writes)
      if (kind === 'task' && id === request_id) return value.createdMs;
    return 0;
  }
}

/** A time and an id as one text that sorts by both. */
function positionOf(ms: number, id: string): string {
  return `${padMs(ms)}/${id}`;
}

/** Writes a time as the beginning of a position. */
export function padMs(ms: number): string {
  return String(Math.max(0, Math.floor(ms))).padStart(14, '0');
}

function addWrite(list: OperationList, write: Write): void {
  switch (write.kind) {
    case 'task':
      addTask(list, write);
      break;
    case 'input':
      list.beginTask(write.id);
      list.add('I1', writeJson(write.value));
      break;
    case 'key':
      list.add('K3', write.id, writeJson(write.value), String(write.keepMs));
      break;
    case 'agent':
      addAgent(list, write);
      break;
  }
}

function addAgent(list: OperationList, { id, expect, value }: Extract<Write, { kind: 'agent' }>): void {
  list.addedAgents += Number(value !== null) - Number(expect !== 'absent');
  list.topics.push(`agent:${id}`);
  if (value === null) {
    list.add('D2', id, expect);
    return;
  }
  const { registration, limit, agent_tags } = value;
  const tags = JSON.stringify([...new Set(agent_tags)]);
  list.add('B6', id, expect, registration, String(limit), tags, writeJson(value));
}

function addTask(list: OperationList, { id, expect, value, index, details, ending }: TaskWrite): void {
  const position = positionOf(value.createdMs, id);
  list.beginPosition(id, position);
  list.add('U2', expect, writeJson(value));
  if (details) list.add('y1', JSON.stringify(details));
  else if (details === null) list.add('t0');
  list.topics.push(`task:${id}`);
  let isListed = false;
  let isAssigned = false;
  for (const { op, index: name } of index) {
    if (name === 'by-agent') isAssigned = true;
    if (op === 'add' && (name === 'all' || name === 'by-session')) isListed = true;
  }
  if (isListed) list.add('n2', value.cli_session_id, JSON.stringify(value.assignees));
  else if (isAssigned) list.add('a1', JSON.stringify(value.assignees));
  for (const change of index) {
    const { op, index: name, of, atMs } = change;
    if (name === 'claimable') addClaimable(list, id, change);
    else if (name === 'unreported') {
      list.add('r3', of, positionOf(atMs, id), String(change.keepMs));
    } else if (!(isListed && op === 'add' && isListing(name))) {
      list.beginPosition(id, atMs === value.createdMs ? position : positionOf(atMs, id));
      addPosition(list, id, change, index);
    }
  }
  list.beginPosition(id, position);
  if (!ending) return;
  list.add('s3', ending.task.outcome, String(ending.tookIndex), writeEnded(ending.task));
  if (ending.noAgent.length > 0) list.add('f1', JSON.stringify(ending.noAgent));
}

/** Whether the index has every task from its submission on. One operation adds a task to all such indexes. */
function isListing(name: IndexChange['index']): boolean {
  return name === 'all' || name === 'by-session' || name === 'by-agent';
}

/** Adds the task's position to an index, or removes it. */
function addPosition(
  list: OperationList,
  id: string,
  { op, index: name, of, atMs }: IndexChange,
  all: readonly IndexChange[],
): void {
  const isAdded = op === 'add';
  switch (name) {
    case 'open':
      list.addedTasks += isAdded ? 1 : -1;
      list.add(isAdded ? 'o1' : 'x1', `${of}-tasks`);
      break;
    case 'waiting': {
      const tags = all.flatMap((one) => (one.index === 'waiting-for' && one.op === op ? [one.of] : []));
      list.add(isAdded ? 'w1' : 'p1', JSON.stringify(tags));
      break;
    }
    case 'waiting-for':
      break;
    default: {
      const set = of === '' ? name : `${name}:${of}`;
      if (isAdded) list.add('z1', set);
      else list.add('v2', set, positionOf(atMs, id));
    }
  }
}

function addClaimable(list: OperationList, id: string, { op, of, fromMs, atMs }: IndexChange): void {
  if (op === 'add') {
    list.add('q3', of, fromMs.toFixed(0), positionOf(atMs, id));
    if (fromMs === 0) list.topics.push(`agent:${of}`);
  } else {
    list.add('v2', `claimable:${of}`, positionOf(atMs, id));
  }
}

function addDueChange(list: OperationList, { ref, atMs, lease, unlessHeld, isNew }: DueChange): void {
  const id = ref.slice(ref.indexOf(':') + 1);
  if (ref.startsWith('task:')) list.beginTask(id);
  else list.beginDueOfAgent(id);
  if (lease !== undefined && !isNew) list.add('L1', lease);
  if (unlessHeld) list.add('u1', String(atMs));
  else if (isNew) list.add('l1', lease);
  else if (atMs === 'held') list.add('h0');
  else if (atMs === null) list.add('k0');
  else list.add('d1', String(atMs));
}

function addOutput(list: OperationList, { request_id, begins, append }: OutputChange): void {
  list.beginTask(request_id);
  if (begins) list.add('W2', begins.writer ?? '', begins.reset ?? '');
  if (append) {
    const { by, pieces } = append;
    const needed = by === undefined ? '2' : isNeeded(append) ? '1' : append.isWhole ? 'whole' : '0';
    const counts = [String(by?.from ?? 0), String(pieces.length), needed];
    list.add('O5', by?.writer ?? '', ...counts, joinPieces(pieces));
    const { behind = [] } = append;
    if (behind.length > 0) list.add('O5', '', '0', String(behind.length), '1', joinPieces(behind));
  }
  // The topic of the task also notifies the watchers of its output.
  if (!list.topics.includes(`task:${request_id}`)) list.topics.push(`output:${request_id}`);
}

function addChecks(list: OperationList, { noneWaiting, noContactAfter, noneFree, atMost }: Batch): void {
  if (noneWaiting && noneWaiting.length > 0) list.add('F1', JSON.stringify(noneWaiting));
  if (noContactAfter) list.add('C2', noContactAfter.agent_id, String(noContactAfter.atMs));
  if (noneFree && noneFree.length > 0) list.add('N1', JSON.stringify(noneFree));
  if (atMost?.openTasks !== undefined && list.addedTasks > 0)
    list.add('M2', String(list.addedTasks), String(atMost.openTasks));
  if (atMost?.agents !== undefined && list.addedAgents > 0)
    list.add('A2', String(list.addedAgents), String(atMost.agents));
}
