/**
 * The scripts that run in Redis. The text of a script is its own file after the parts that it needs. A script
 * is atomic, and its effects reach the disk and the replicas of Redis as one.
 *
 * The keys of a store, after its prefix. These names, and those of fields and members, never change.
 *
 *   epoch, format       which store this is: a random name, and the format of what it holds
 *                       (`connection/format.ts`); written when the store is created
 *   meta                hash: open (number of open tasks), succeeded (number of stored tasks that succeeded),
 *                       outputBytes (of all output), outputBytesMax (the limit that retention last used),
 *                       step (the step of the activity that began last), eventMs, eventNumber (of the last
 *                       event), grants, changes (counters), forgotten (up to which change number removals
 *                       are forgotten), swept (last sweep), resumed (when sweeping began or resumed)
 *   task:<id>           hash: s, r (state, its revision), i, ir (input, its revision), o (1 while open, then
 *                       the outcome), c (created), n (session), a (assignees), e (cursor of the event),
 *                       p (details), w (output: how many pieces the writer has stored, the last number,
 *                       bytes, then f if full, r if removed, else -, then the writer and the replaced
 *                       writers with a character 30 between them); retention finds the entries of a task by
 *                       c, n, a, o, e and w
 *   output:<id>         stream: an entry for each write to the task's output, with the pieces as one text;
 *                       the id of an entry is the number of its last piece
 *   ended-output        sorted set: settled tasks that have output, by when they settled
 *   agent:<id>          hash: v, r (record, its revision), reg (registration), lim (limit), tags, lg (last
 *                       grant), cm (last contact), bm, bg (last heartbeat, gap before it), rm (when it
 *                       registered), p (last push), um (since when its pushes fail)
 *   key:<key>           hash: v, r (idempotency record, its revision), e (when it expires)
 *   slots:<agent>       sorted set: the tasks that hold a slot, by the number of the grant
 *   free:<tag>          set: the agents that may take one more task
 *   waiting:<tag>       sorted set: positions of waiting tasks
 *   waiting-tasks, waiting-tags
 *                       sorted set of the positions of all waiting tasks, and set of the tags that they wait
 *                       for: only for figures and a listing of the operator
 *   waiting-for-answer  sorted set: positions of the tasks with an open question, by when it was asked; only
 *                       for a listing of the operator
 *   pending-tasks, running-tasks, by-outcome:<outcome>
 *                       sorted sets: positions of open tasks, and of tasks settled without success; only for
 *                       listings of the operator
 *   activity:<step>     hash of a step of 30 s in which something changed: w (how many tasks waited before),
 *                       r (how many other tasks were open), and `<outcome> <index>`: how many tasks ended
 *                       with this outcome and took this long; expires
 *   no-agent:<step>     hash: tasks that found no agent, by tag; expires
 *   claimable:<agent>   sorted set: positions of the tasks that claims may hand out, by the time from which
 *                       they may (0: at once)
 *   agents              sorted set: the agents with a record
 *   changed, gone       sorted sets: agents by the number of their last change, or of their removal
 *   all, by-session:<session>, by-agent:<agent>, unreported:<agent>
 *                       sorted sets: positions of tasks
 *   due, leases         sorted set: refs by due time; hash: the lease of each ref that was taken
 *   feed:<session>      stream: one entry for each event
 *   trimmed:<session>   cursor of the last event that was trimmed away
 *   crowded             set: sessions with new events, which may exceed the limit
 *   ended               sorted set: settled tasks by when they settled
 *   last-ended          list: the tasks that ended last, the latest first, and how they ended
 *   fade                sorted set, the expiry index: k:<key>, s:<session> and
 *                       u:<length of agent>:<agent><position>, by when they expire
 *   barrier             counter, written to find out whether a replica has all earlier writes
 *   hints               the channel of notifications; that of database N > 0 is hints:N, because channels
 *                       belong to no database
 *   hints/<process>     a channel that only this process listens to, for counting the other listeners
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { STEP_MS, STEP_TAGS_MAX, STEPS_MAX } from '../../domain/activity.ts';
import { HANDED_OUT_MAX, STORE_LIMITS } from '../../ports/limits.ts';
import type { RedisClient, Reply } from './client/client.ts';
import { LEASE_GAP_MS } from './spared-leases.ts';

export type Script = {
  readonly text: string;
  /** Whether Redis runs the script even when its memory is full. */
  readonly endsOrFrees: boolean;
  /** The name of the loaded script in Redis. */
  readonly sha: string;
};

/**
 * - `no-writes`: the script only reads.
 * - `allow-oom`: the script also writes when the memory of Redis is full, because what ends a task or frees
 *   memory must always be possible.
 * - `null`: the script adds something, so it is refused when memory is full.
 */
type Flag = 'no-writes' | 'allow-oom' | null;

/** How exact the time of a contact is. */
export const CONTACT_GRAIN_MS = 250;

/** The numbers of the store port, under the names that the scripts use. */
const LIMITS = {
  LEASE_MS: STORE_LIMITS.leaseMs,
  LEASE_GAP_MS,
  SWEEP_GAP_MS: STORE_LIMITS.sweepGapMs,
  UNREPORTED_MS: STORE_LIMITS.unreportedMs,
  REMOVED_AGENTS_MAX: STORE_LIMITS.removedAgentsMax,
  ENDED_MAX: STORE_LIMITS.endedMax,
  OUTPUT_BYTES_MAX: STORE_LIMITS.outputBytesMax,
  OUTPUT_PIECE_BYTES: STORE_LIMITS.outputPieceBytes,
  OUTPUT_RESERVE_BYTES: STORE_LIMITS.outputReserveBytes,
  OUTPUT_REPLACED_MAX: STORE_LIMITS.outputReplacedMax,
  OUTPUT_PAGE_BYTES: STORE_LIMITS.outputPageBytes,
  OUTPUT_FILLED_SHARE_MAX: STORE_LIMITS.outputFilledShareMax,
  HANDED_OUT_MAX,
  CONTACT_GRAIN_MS,
  STEP_MS,
  STEPS_MAX,
  STEP_TAGS_MAX,
};
const LIMITS_LINE = `local ${Object.keys(LIMITS).join(', ')} = ${Object.values(LIMITS).join(', ')}`;

function readScript(name: string, flag: Flag, parts: readonly string[]): Script {
  const shebang = flag === null ? '#!lua' : `#!lua flags=${flag}`;
  const text = [shebang, LIMITS_LINE, ...[...parts, name].map(readPart)].join('\n');
  return { text, endsOrFrees: flag === 'allow-oom', sha: createHash('sha1').update(text).digest('hex') };
}

/**
 * Reads a part. It replaces the byte of a letter by the number, `byte('T')` by 84, so that no script computes
 * the byte.
 */
function readPart(part: string): string {
  const text = readFileSync(join(import.meta.dirname, 'scripts', `${part}.lua`), 'utf8');
  return text.replaceAll(/\bbyte\('(\w)'\)/g, (_, letter: string) => String(letter.charCodeAt(0)));
}

const TIMED = ['prelude', 'epoch', 'time'];
const COMMIT_PARTS = [
  ...TIMED,
  'damage',
  'notifications',
  'deferred',
  'counting',
  'operations',
  'rare_operations',
];
const OUTPUT_PARTS = [...COMMIT_PARTS, 'output_operations'];

export const scripts = {
  open: readScript('open', 'allow-oom', ['prelude', 'time']),
  read: readScript('read', 'no-writes', [...TIMED, 'agents']),
  agentChanges: readScript('agent_changes', 'no-writes', [...TIMED, 'agents']),
  list: readScript('list', 'no-writes', TIMED),
  feed: readScript('feed', 'no-writes', ['prelude', 'epoch']),
  claimable: readScript('claimable', 'no-writes', TIMED),
  findSlots: readScript('find_slots', 'no-writes', ['prelude', 'epoch']),
  counts: readScript('counts', 'no-writes', ['prelude', 'epoch']),
  activity: readScript('activity', 'no-writes', TIMED),
  outputPage: readScript('output_page', 'no-writes', ['prelude', 'epoch']),
  lastEnded: readScript('last_ended', 'no-writes', ['prelude', 'epoch']),
  /** For commits, at least one of which adds a task or an agent. */
  admit: readScript('commit', null, COMMIT_PARTS),
  /** For other commits. */
  commit: readScript('commit', 'allow-oom', COMMIT_PARTS),
  /** The same two for commits, at least one of which changes an output. */
  admitOutput: readScript('commit', null, OUTPUT_PARTS),
  commitOutput: readScript('commit', 'allow-oom', OUTPUT_PARTS),
  takeDue: readScript('take_due', 'allow-oom', TIMED),
  renewLeases: readScript('renew_leases', 'allow-oom', TIMED),
  touch: readScript('touch', 'allow-oom', [...TIMED, 'agents']),
  trim: readScript('trim', 'allow-oom', [...TIMED, 'damage']),
  barrier: readScript('barrier', 'allow-oom', []),
} as const satisfies Readonly<Record<string, Script>>;

/** Runs a script by its hash, or by its text if Redis no longer has the script. */
export async function runScript(
  client: RedisClient,
  script: Script,
  args: readonly string[],
): Promise<Reply> {
  try {
    return await client.send(['EVALSHA', script.sha, ...args]);
  } catch (error) {
    if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
    return await client.send(['EVAL', script.text, ...args]);
  }
}

export async function loadScripts(client: RedisClient): Promise<void> {
  await Promise.all(Object.values(scripts).map(({ text }) => client.send(['SCRIPT', 'LOAD', text])));
}
