/**
 * What the gateway promised in its responses, kept so that each promise can be compared after every crash.
 */
import { type Answer, get } from '../e2e/plain-calls.ts';

export type AnswerHistory = {
  noteSubmitted(request_id: string): void;
  noteCancelled(request_id: string): void;
  /** A report whose response was `accepted: true`, with the output it carried. */
  noteReported(request_id: string, output: string): void;
  /** The pieces of output that were accepted, from the first on. */
  noteWritten(request_id: string, pieces: readonly object[]): void;
  /** A task an agent was given, by the response to a claim or by a push: it is that agent's from then on. */
  noteAssigned(request_id: string, agent_id: string): void;
  /** An event a subscriber received. */
  noteEvent(id: string, event: Readonly<Record<string, unknown>>): void;
  readonly ids: readonly string[];
  count(): {
    readonly submitted: number;
    readonly cancelled: number;
    readonly reported: number;
    readonly claimed: number;
    readonly pushed: number;
    readonly shown: number;
    readonly written: number;
  };
  /**
   * Compares every promise with what the gateway returns now, or those of tasks that something was noted of
   * since the last comparison; resolves with the broken ones. Where `unavailable` is allowed a 503 breaks
   * nothing.
   */
  findBroken(
    url: string,
    options?: { readonly unavailable?: boolean; readonly onlyNew?: boolean },
  ): Promise<readonly string[]>;
};

/** What was promised about one task. */
type Promised = {
  readonly cancelled: boolean;
  readonly output: string | undefined;
  readonly agent_id: string | undefined;
  readonly event: Readonly<Record<string, unknown>> | undefined;
};

/** Creates an empty history. */
export function createAnswerHistory(): AnswerHistory {
  const ids: string[] = [];
  const cancelled = new Set<string>();
  const outputs = new Map<string, string>();
  const assigned = new Map<string, string>();
  const events = new Map<
    string,
    { readonly id: string; readonly event: Readonly<Record<string, unknown>> }
  >();
  const written = new Map<string, readonly object[]>();
  const repeated: string[] = [];
  const noted = new Set<string>();

  function promisedOf(request_id: string): Promised {
    return {
      cancelled: cancelled.has(request_id),
      output: outputs.get(request_id),
      agent_id: assigned.get(request_id),
      event: events.get(request_id)?.event,
    };
  }

  function note(request_id: string): string {
    noted.add(request_id);
    return request_id;
  }

  return {
    ids,
    noteSubmitted: (request_id) => void ids.push(note(request_id)),
    noteCancelled: (request_id) => void cancelled.add(note(request_id)),
    noteReported: (request_id, output) => void outputs.set(note(request_id), output),
    noteWritten: (request_id, pieces) => void written.set(note(request_id), pieces),
    noteAssigned: (request_id, agent_id) => void assigned.set(note(request_id), agent_id),
    noteEvent(id, event) {
      const request_id = note(String(event.request_id));
      const before = events.get(request_id);
      if (before) repeated.push(`${request_id}: two events, ${before.id} and ${id}`);
      events.set(request_id, { id, event });
    },
    count: () => ({
      submitted: ids.length,
      cancelled: cancelled.size,
      reported: outputs.size,
      claimed: [...assigned.values()].filter((agent_id) => agent_id === 'puller').length,
      pushed: [...assigned.values()].filter((agent_id) => agent_id === 'pusher').length,
      shown: events.size,
      written: written.size,
    }),
    async findBroken(url, { unavailable = false, onlyNew = false } = {}) {
      const found: string[] = [...repeated];
      const compared = ids.filter((request_id) => !onlyNew || noted.has(request_id));
      noted.clear();
      for (const request_id of compared) {
        // What is promised while this request is on its way need not be in its response.
        const promised = promisedOf(request_id);
        const answer = await get(url, `/api/cli/tasks/${request_id}`);
        if (unavailable && answer.status === 503) continue;
        found.push(...findBrokenOf(promised, answer).map((what) => `${request_id}: ${what}`));
        const pieces = written.get(request_id);
        if (pieces) found.push(...(await findUnwritten(url, request_id, pieces)));
      }
      return found;
    },
  };
}

/** Whether the accepted pieces are there, each under its number, and only the last call's behind them. */
async function findUnwritten(
  url: string,
  request_id: string,
  written: readonly object[],
): Promise<readonly string[]> {
  const { status, body } = await get(url, `/api/cli/tasks/${request_id}/output`);
  const expected = written.map((piece, index) => ({ n: index + 1, ...piece }));
  const found = status === 200 ? (body.pieces as readonly object[]) : [];
  const isThere = JSON.stringify(found.slice(0, expected.length)) === JSON.stringify(expected);
  if (status === 503 || (isThere && found.length <= 2)) return [];
  return [`${request_id}: ${written.length} pieces were accepted; now ${status} ${JSON.stringify(body)}`];
}

/** Which promises of one task the response breaks. */
function findBrokenOf(
  { cancelled, output, agent_id, event }: Promised,
  { status, body }: Answer,
): readonly string[] {
  const found: string[] = [];
  const add = (what: string): void => void found.push(`${what}; now ${status} ${JSON.stringify(body)}`);
  if (status !== 200) {
    add('its submission returned 200');
    return found;
  }
  if (cancelled && body.error_info !== 'cancelled by user') add('its cancel returned 200');
  if (output !== undefined && (body.result as { output?: string } | null)?.output !== output) {
    add(`its report "${output}" was accepted`);
  }
  if (agent_id !== undefined && body.agent_id !== agent_id) add(`it was given to ${agent_id}`);
  if (event) {
    const { request_id, result, error_info } = body;
    const now = { event: 'task_done', request_id, status: body.status, result, error_info };
    if (JSON.stringify(event) !== JSON.stringify(now)) add(`its event was ${JSON.stringify(event)}`);
  }
  return found;
}
