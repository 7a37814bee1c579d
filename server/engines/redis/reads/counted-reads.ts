/**
 * Reads of an agent's slots and claimable tasks, and of what was counted. None of these reads becomes slower
 * with the number of stored tasks.
 */
import {
  type ActivityStep,
  buildActivity,
  isTimed,
  levelsOf,
  type StepRecord,
} from '../../../domain/activity.ts';
import { type EndedTask, readEnded, sortEnded } from '../../../domain/ended-task.ts';
import { OUTCOMES } from '../../../domain/history-record.ts';
import { fillOutcomes, type TaskCounts } from '../../../domain/task-counts.ts';
import type { Demand, Store, TagDemand } from '../../../ports/store.ts';
import type { Reply } from '../client/client.ts';
import type { Connection } from '../connection/connection.ts';
import type { DamageLog } from '../damage-log.ts';
import { scripts } from '../scripts.ts';

const WITHOUT_SUCCESS = OUTCOMES.filter((outcome) => outcome !== 'success');

type Deps = { readonly connection: Pick<Connection, 'call'>; readonly noteDamage: DamageLog };

export function createCountedReads({
  connection,
  noteDamage,
}: Deps): Pick<Store, 'listClaimable' | 'readCounts' | 'readActivity' | 'readEnded' | 'findSlots'> {
  function parseEnded(text: string): EndedTask | undefined {
    try {
      return readEnded(text);
    } catch {
      noteDamage('an entry of last-ended');
      return undefined;
    }
  }

  return {
    async listClaimable(agent_id, limit) {
      const reply = await connection.call(scripts.claimable, [agent_id, String(limit)]);
      const [request_ids, nextMs] = reply as readonly Reply[];
      return {
        request_ids: request_ids as readonly string[],
        nextMs: nextMs === '' ? null : Number(nextMs),
      };
    },

    async readCounts(tagsMax) {
      const reply = await connection.call(scripts.counts, [String(tagsMax), ...WITHOUT_SUCCESS]);
      return parseCounts(reply as readonly Reply[]);
    },

    async readActivity() {
      return parseActivity((await connection.call(scripts.activity, [])) as readonly Reply[]);
    },

    async readEnded() {
      const reply = await connection.call(scripts.lastEnded, []);
      return sortEnded((reply as readonly string[]).flatMap((text) => parseEnded(text) ?? []));
    },

    async findSlots(agent_id, request_ids) {
      if (request_ids.length === 0) return new Set();
      const reply = await connection.call(scripts.findSlots, [agent_id, ...request_ids]);
      const found = reply as readonly Reply[];
      return new Set(request_ids.filter((_, index) => found[index] === 1));
    },
  };
}

/** Reads the time at the beginning of a position. */
function msOf(position: Reply | undefined): number {
  return Number(String(position).split('/', 1)[0]);
}

function parseTag([tag, waiting, oldest]: readonly Reply[]): TagDemand {
  return { tag: String(tag), waiting: Number(waiting), oldestMs: msOf(oldest) };
}

function parseCounts(reply: readonly Reply[]): TaskCounts & Demand {
  const [pending, running, waiting, success, others, oldest, tags, waitingForAnswer] = reply;
  const ended = fillOutcomes({ success: Number(success) });
  for (const [index, outcome] of WITHOUT_SUCCESS.entries())
    ended[outcome] = Number((others as readonly Reply[])[index]);
  return {
    pending: Number(pending),
    running: Number(running),
    waiting: Number(waiting),
    waitingForAnswer: Number(waitingForAnswer),
    ended,
    oldestWaitingMs: oldest === '' ? null : msOf(oldest),
    tags: (tags as readonly (readonly Reply[])[]).map(parseTag),
  };
}

function parseActivity([nowMs, openTasks, waitingTasks, steps]: readonly Reply[]): readonly ActivityStep[] {
  const records = (steps as readonly (readonly Reply[])[]).flatMap(parseStep);
  return buildActivity(records, levelsOf(Number(openTasks), Number(waitingTasks)), Number(nowMs));
}

/** Returns the record of a step; an empty list if nothing changed in the step. */
function parseStep([atMs, fields, tags]: readonly Reply[]): readonly StepRecord[] {
  const counts = parseHash(fields);
  if (counts.size === 0) return [];
  const ended = fillOutcomes();
  const took = new Map<number, number>();
  for (const [field, count] of counts) {
    const [name, text] = field.split(' ', 2);
    const outcome = OUTCOMES.find((candidate) => candidate === name);
    if (!outcome || text === undefined) continue;
    const index = Number(text);
    ended[outcome] += count;
    if (isTimed(outcome)) took.set(index, (took.get(index) ?? 0) + count);
  }
  const before = { waiting: counts.get('w') ?? 0, running: counts.get('r') ?? 0 };
  return [{ atMs: Number(atMs), before, ended, took, noAgent: parseHash(tags) }];
}

/** Reads the fields of a hash, which Redis sends as a flat list. */
function parseHash(reply: Reply | undefined): ReadonlyMap<string, number> {
  const texts = reply as readonly Reply[];
  const fields = new Map<string, number>();
  for (let index = 0; index + 1 < texts.length; index += 2)
    fields.set(String(texts[index]), Number(texts[index + 1]));
  return fields;
}
