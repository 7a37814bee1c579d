/**
 * The flat form of a commit: the arguments of `scripts/flat.lua`, one after the other, so that Redis parses
 * nothing. It fits what a task goes through again and again: one task with its due entry, one slot, its event
 * and, where it is submitted, its input. Every other batch takes the general form (`general-commit.ts`), also
 * one of a task that ends for want of an agent: its tags are counted.
 */
import { claimableFromMs } from '../../../domain/delivery.ts';
import { writeJson } from '../../../domain/json-text.ts';
import { classifyTask } from '../../../domain/task-counts.ts';
import { type Batch, type DueChange, type SlotChange, taskRef, type Write } from '../../../ports/store.ts';
import { type CommitName, encodeEnding } from './general-commit.ts';

type TaskWrite = Extract<Write, { kind: 'task' }>;
type InputWrite = Extract<Write, { kind: 'input' }>;

/** The parts of a flat commit. */
type FlatParts = {
  readonly task: TaskWrite;
  readonly input: InputWrite | undefined;
  readonly due: DueChange | undefined;
  readonly slot: SlotChange | undefined;
};

/** Stands for an absent word of a flat commit. */
const NONE = '-';

/** The arguments of a batch in its flat form; undefined where it does not fit. */
export function encodeFlatCommit(batch: Batch, name: CommitName): readonly string[] | undefined {
  const parts = findParts(batch);
  if (!parts) return undefined;
  const { task, input, due, slot } = parts;
  const { noneWaiting = [] } = batch;
  const { id, expect, value } = task;
  const claimMs = claimableFromMs(value);
  const ending = encodeEnding(value);
  const words = [
    name.notAfterMs,
    ending?.outcome ?? 1,
    value.createdMs,
    ...encodeDue(due),
    slot?.op ?? 'none',
    batch.atMost?.openTasks ?? NONE,
    claimMs ?? NONE,
    value.delivery?.assignedMs ?? NONE,
    ending?.took ?? NONE,
  ];
  return [
    'flat',
    words.join(' '),
    name.revision,
    id,
    expect,
    writeJson(value),
    value.cli_session_id,
    JSON.stringify(value.assignees),
    due?.lease ?? '',
    slot?.agent_id ?? (claimMs === null ? '' : (value.agent_id ?? '')),
    slot?.op === 'grant' ? slot.registration : '',
    input ? writeJson(input.value) : '',
    batch.event?.session ?? '',
    noneWaiting.length > 0 ? JSON.stringify(noneWaiting) : '',
  ];
}

function encodeDue(due: DueChange | undefined): readonly [how: string, ms: number | string] {
  if (!due) return ['none', NONE];
  if (due.unlessHeld) return ['unlessHeld', due.atMs];
  if (due.atMs === 'held') return [due.isNew ? 'new' : 'held', NONE];
  return due.atMs === null ? ['remove', NONE] : ['at', due.atMs];
}

/** The parts of a batch; undefined where it has others. */
function findParts(batch: Batch): FlatParts | undefined {
  const { noneFree, wait, unreported, noContactAfter, atMost } = batch;
  if ((noneFree && noneFree.length > 0) || wait || unreported || noContactAfter) return undefined;
  if (atMost?.agents !== undefined) return undefined;
  const writes = findWrites(batch.writes);
  if (!writes) return undefined;
  const { id, value } = writes.task;
  if (classifyTask(value) === 'no_agent') return undefined;
  const { due = [], slots = [], event } = batch;
  if (due.length > 1 || slots.length > 1) return undefined;
  const [firstDue] = due;
  const [slot] = slots;
  if (firstDue && firstDue.ref !== taskRef(id)) return undefined;
  if (
    slot &&
    (slot.request_id !== id || (claimableFromMs(value) !== null && slot.agent_id !== value.agent_id))
  )
    return undefined;
  if (event && (event.request_id !== id || event.session === '')) return undefined;
  return { ...writes, due: firstDue, slot };
}

/** One task, and no input or its own. */
function findWrites(writes: readonly Write[]): Pick<FlatParts, 'task' | 'input'> | undefined {
  const [first, second, third] = writes;
  const [task, input] = first?.kind === 'input' ? [second, first] : [first, second];
  if (third || task?.kind !== 'task' || task.expect === '') return undefined;
  if (input === undefined) return { task, input };
  if (input.kind !== 'input' || input.id !== task.id) return undefined;
  return { task, input };
}
