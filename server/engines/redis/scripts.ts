/**
 * The scripts that run in Redis, as they are sent: each is its own file behind the parts it needs. A script
 * is atomic, and its effects reach the disk and the replicas of Redis as one.
 *
 * The keys of a store, each behind the prefix of the store. These names, and those of fields and members,
 * never change.
 *
 *   epoch, format       which store this is: a random name, and the format of what it holds
 *                       (`connection/format.ts`); written when the store is created
 *   meta                hash: open (how many tasks are open), succeeded (how many tasks are stored that did),
 *                       outputBytes, outputBytesMax (of all output together, as retention last had it),
 *                       step (the step of time that began last), eventMs, eventNumber (of the last event),
 *                       grants, changes (counters), forgotten (up to which change number removals are
 *                       forgotten), swept (last sweep), resumed (when sweeping began, or went on after a
 *                       gap)
 *   task:<id>           hash: s, r (state, its revision), i, ir (input, its revision), o (1 while open, then
 *                       its outcome), c (created), n (session), a (assignees), e (cursor of its
 *                       event), w (its output: how many pieces the writer has stored, the last number,
 *                       bytes, f if it is full or r if it was removed, else -, then the writer and those
 *                       that it replaced, a character 30 between them); retention finds the entries of a
 *                       task by c, n, a, o, e and w
 *   output:<id>         stream: an entry for each write to the task's output; its pieces as one text, and as
 *                       its id the number of the last of them
 *   ended-output        sorted set: settled tasks that have output, by when they settled
 *   agent:<id>          hash: v, r (record, its revision), reg (registration), lim (limit), tags, lg (last
 *                       grant), cm (last contact), bm, bg (last heartbeat, gap before it), p (last push)
 *   key:<key>           hash: v, r (idempotency record, its revision), e (when it expires)
 *   slots:<agent>       sorted set: the tasks that hold a slot, by the number of the grant
 *   free:<tag>          set: the agents that may take one more task
 *   waiting:<tag>       sorted set: positions of waiting tasks
 *   waiting-tasks, waiting-tags
 *                       sorted set of the positions of all waiting tasks, and set of the tags that have any:
 *                       figures and a listing for the operator, on which nothing else rests
 *   waiting-for-answer  sorted set: positions of the tasks with an open question, by when it was asked; a
 *                       listing for the operator, on which nothing else rests
 *   pending-tasks, running-tasks, by-outcome:<outcome>
 *                       sorted sets of the positions of open tasks, and of settled ones without success:
 *                       listings for the operator, on which nothing else rests
 *   activity:<step>     hash, of a step of 30 s in which something changed: w, r (how many tasks waited, and
 *                       were open and did not, before), and `<outcome> <index>`: how many ended so, after
 *                       this long; expires
 *   no-agent:<step>     hash: tasks that found no agent, by tag; expires
 *   claimable:<agent>   sorted set: positions of the tasks that claims may hand out, by from when on (0: at
 *                       once)
 *   agents              sorted set: the agents with a record
 *   changed, gone       sorted sets: agents by the number of their last change, or of their removal
 *   all, by-session:<session>, by-agent:<agent>, unreported:<agent>
 *                       sorted sets: positions of tasks
 *   due, leases         sorted set: refs by due time; hash: the lease of each ref that was taken
 *   feed:<session>      stream: one entry for each event
 *   trimmed:<session>   cursor of the last event that was trimmed away
 *   crowded             set: sessions with new events, which may have too many
 *   ended               sorted set: settled tasks by when they settled
 *   last-ended          list: how the tasks ended that ended last, the last of them first
 *   fade                sorted set, the expiry index: k:<key>, s:<session> and
 *                       u:<length of agent>:<agent><position>, by when they expire
 *   barrier             counter, written to find out whether replicas have all writes before it
 *   hints               the channel of notifications; that of database N > 0 is hints:N, because channels
 *                       belong to no database
 *   hints/<process>     a channel that only this process listens to, so that others can be counted
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
  /** Whether Redis takes it as long as it takes any write: also when its memory is full. */
  readonly endsOrFrees: boolean;
  /** Names it in Redis once it was loaded. */
  readonly sha: string;
};

/**
 * `no-writes`: only reads. `allow-oom`: writes also when the memory of Redis is full, because what ends a
 * task or frees memory is never refused for want of it. `null`: is refused then, because it adds.
 */
type Flag = 'no-writes' | 'allow-oom' | null;

/** A contact is exact to this. */
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

/** Reads a part. The byte of one letter is sent as its value, `byte('T')` as 84: so no script computes it. */
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
  /** Commits of which one adds a task or an agent. */
  admit: readScript('commit', null, COMMIT_PARTS),
  /** Any other commits. */
  commit: readScript('commit', 'allow-oom', COMMIT_PARTS),
  /** The same where one of them changes an output. */
  admitOutput: readScript('commit', null, OUTPUT_PARTS),
  commitOutput: readScript('commit', 'allow-oom', OUTPUT_PARTS),
  takeDue: readScript('take_due', 'allow-oom', TIMED),
  renewLeases: readScript('renew_leases', 'allow-oom', TIMED),
  touch: readScript('touch', 'allow-oom', [...TIMED, 'agents']),
  trim: readScript('trim', 'allow-oom', [...TIMED, 'damage']),
  barrier: readScript('barrier', 'allow-oom', []),
} as const satisfies Readonly<Record<string, Script>>;

/** Runs a script by its hash, or by its text where Redis no longer has it. */
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
