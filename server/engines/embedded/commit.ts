/**
 * The commit of a batch: what the decision needs is read, then it is checked and applied in one go, and the
 * caller has the result when its group is durable.
 */
import type { OutputChange, OutputConflict, OutputHead } from '../../ports/output.ts';
import { type Batch, type CommitResult, StoreUnavailable } from '../../ports/store.ts';
import type { Contacts } from '../contacts.ts';
import { applyBatch } from './apply.ts';
import type { Generation } from './generation.ts';
import { buildPrefetchRequest, type Prefetched, prefetchAndDecide } from './lookup.ts';
import { headOf, planOutput } from './output.ts';
import { findConflict } from './preconditions.ts';
import type { Generations } from './recovery.ts';

/** The parts of the engine that a commit needs. */
export type CommitDeps = {
  readonly generations: Generations;
  readonly contacts: Contacts;
  /** Sessions that got events since retention last checked them. */
  readonly sessionsToCheck: Set<string>;
  readonly openBytesMax: number;
  /** Bytes of all output, as retention last had it; any number before that. */
  outputBytesMax: number;
  nowMs(): number;
};

/** Commits a batch as the port promises it. */
export async function commitBatch(deps: CommitDeps, batch: Batch): Promise<CommitResult> {
  const { generations } = deps;
  const generation = generations.writable();
  void generations.diskSpace.update();
  generations.diskSpace.requireSpace(batch);
  const request = buildPrefetchRequest(generation, batch);
  const { seq, result } = await prefetchAndDecide(generation, request, (prefetched) =>
    decide(deps, generation, prefetched, batch),
  );
  // A conflict waits too: the commits that caused it must be durable before a caller acts on it.
  await generation.commits.whenDurable(seq);
  return result;
}

/** Appends to an output: a commit of that alone. */
export async function appendOutput(
  deps: CommitDeps,
  output: OutputChange,
): Promise<({ readonly ok: true } & OutputHead) | OutputConflict> {
  const result = await commitBatch(deps, { writes: [], output });
  return result.ok ? { ok: true, ...(result.output as OutputHead) } : (result as OutputConflict);
}

/**
 * Checks the preconditions and applies the batch in one go. When applying throws, the memory state may be
 * half changed, so the generation ends.
 */
function decide(
  deps: CommitDeps,
  generation: Generation,
  prefetched: Prefetched,
  batch: Batch,
): { readonly seq: number; readonly result: CommitResult } {
  const nowMs = deps.nowMs();
  if (batch.notAfterMs !== undefined && nowMs > batch.notAfterMs) {
    throw new StoreUnavailable('The commit was too late: its caller has already got a response.');
  }
  const conflict = findConflict(generation, prefetched, batch, nowMs, deps);
  if (conflict) return { seq: generation.commits.lastSeq(), result: conflict };
  const output = batch.output && planOutput(generation, prefetched, batch.output, deps.outputBytesMax);
  if (output && 'conflict' in output) return { seq: generation.commits.lastSeq(), result: output };
  try {
    const { seq, revision } = applyBatch(generation, prefetched, batch, nowMs, deps.contacts, output);
    if (batch.event) deps.sessionsToCheck.add(batch.event.session);
    return { seq, result: { ok: true, revision, ...(output && { output: headOf(output.after) }) } };
  } catch (error) {
    generation.commits.fail(error);
    throw error;
  }
}
