/**
 * Lists tasks as rows: what tells a task from others, its times and its outcome, without the whole payload
 * and result. A row shows the beginning of the payload: stored beside the state if the payload is large, else
 * cut from the payload. The first page also counts all matches, if the caller asks for that.
 */

import { isWaitingForAnswer } from '../../../domain/asking.ts';
import { writeCursor } from '../../../domain/cursor.ts';
import { assignedAtMs, outcomeOf } from '../../../domain/history.ts';
import { writeJson } from '../../../domain/json-text.ts';
import { cutText } from '../../../domain/payload-preview.ts';
import { toSeconds } from '../../../domain/wire-time.ts';
import type { AdminCalls, TaskPage, TaskQuery, TaskRow } from '../../../ports/admin.ts';
import { unlessDamaged } from '../../tasks/read-task.ts';
import { requirePosition } from '../page-cursor.ts';
import { endOfSearches, type FoundTask, LOOKED_AT_MAX, type SearchDeps, searchTasks } from './task-search.ts';
import { countTasks } from './task-totals.ts';

/** A page ends when its tags have this many characters, because a page is rendered without a pause. */
const TAG_CHARS_MAX = 2 ** 19;

export function createListTasks(deps: SearchDeps): Pick<AdminCalls, 'listTasks'> {
  return {
    listTasks: (query) => listTasks(deps, query),
  };
}

async function listTasks(deps: SearchDeps, query: TaskQuery): Promise<TaskPage> {
  const { cursor, limit, counts = false, ...filter } = query;
  const time = deps.store.nowMs() / 1_000;
  const endMs = endOfSearches(deps.clock);
  const rows: TaskRow[] = [];
  let lastShown: string | null = null;
  let tagChars = 0;
  const { next } = await searchTasks(deps, {
    filter,
    after: cursor === undefined ? null : requirePosition(cursor),
    lookedAtMax: LOOKED_AT_MAX,
    endMs,
    async visit(found) {
      const shown = found.slice(0, limit - rows.length);
      const described = await Promise.all(shown.map((one) => describeTaskRow(deps, one)));
      rows.push(...described.flat());
      tagChars += shown.reduce((sum, { state }) => sum + state.task_tags.join('').length, 0);
      if (found.length > shown.length) lastShown = shown.at(-1)?.position ?? null;
      return rows.length < limit && tagChars < TAG_CHARS_MAX;
    },
  });
  const end = lastShown ?? next;
  return {
    time,
    tasks: rows,
    next_cursor: end === null ? null : writeCursor(end),
    counts: counts && cursor === undefined ? await countTasks(deps, filter, endMs) : null,
  };
}

/** Describes a task; returns no row if the task was removed meanwhile or its input is damaged. */
async function describeTaskRow(
  { store }: SearchDeps,
  { request_id, state }: FoundTask,
): Promise<readonly TaskRow[]> {
  const preview = state.payloadPreview ?? (await readPreview(store, request_id));
  if (preview === undefined) return [];
  const { status, agent_id, progress, error_info, task_type, task_tags, cli_session_id } = state;
  const isWaiting = status === 'pending' && state.queueEndMs !== null;
  return [
    {
      request_id,
      task_type,
      task_tags,
      cli_session_id,
      status,
      waiting: state.waiting,
      waiting_for_answer: isWaitingForAnswer(state),
      outcome: outcomeOf(state),
      agent_id,
      progress,
      acknowledged: state.delivery?.acknowledged ?? false,
      create_time: state.createdMs / 1_000,
      assigned_time: toSeconds(assignedAtMs(state)),
      ended_time: toSeconds(state.settledMs),
      deadline_time: state.deadlineMs / 1_000,
      gives_up_time: isWaiting ? toSeconds(state.queueEndMs) : null,
      error_info: error_info === null ? null : cutText(error_info),
      payload_preview: preview,
      payload_bytes: state.payloadBytes,
    },
  ];
}

/** Reads a short payload and returns its beginning; undefined if the task was removed meanwhile. */
async function readPreview(store: SearchDeps['store'], request_id: string): Promise<string | undefined> {
  const input = (await unlessDamaged(store.get('input', request_id)))?.value;
  return input && cutText(writeJson({ payload: input.payload }).slice('{"payload":'.length, -1));
}
