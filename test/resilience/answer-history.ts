/** What the gateway promised in its answers, kept so that it can be held to it after every crash. */
import { type Answer, get } from '../e2e/plain-calls.ts';

export type History = {
  submitted(request_id: string): void;
  cancelled(request_id: string): void;
  /** A report that was answered `accepted: true`, with the output it carried. */
  reported(request_id: string, output: string): void;
  /** A task an agent was given, by a claim's answer or a push: it is that agent's from then on. */
  handed(request_id: string, agent_id: string): void;
  /** An event a subscriber was shown. */
  shown(id: string, event: Readonly<Record<string, unknown>>): void;
  readonly ids: readonly string[];
  count(): {
    readonly submitted: number;
    readonly cancelled: number;
    readonly reported: number;
    readonly claimed: number;
    readonly pushed: number;
    readonly shown: number;
  };
  /** Compares every promise with what the gateway says now; answers the broken ones. A 503 says nothing, where allowed. */
  check(url: string, allowed?: { readonly unavailable: boolean }): Promise<readonly string[]>;
};

/** What was promised about one task. */
type Promised = {
  readonly cancelled: boolean;
  readonly output: string | undefined;
  readonly agent_id: string | undefined;
  readonly event: Readonly<Record<string, unknown>> | undefined;
};

/** Creates an empty history. */
export function createHistory(): History {
  const ids: string[] = [];
  const cancelled = new Set<string>();
  const outputs = new Map<string, string>();
  const holders = new Map<string, string>();
  const events = new Map<
    string,
    { readonly id: string; readonly event: Readonly<Record<string, unknown>> }
  >();
  const broken: string[] = [];

  function recall(request_id: string): Promised {
    return {
      cancelled: cancelled.has(request_id),
      output: outputs.get(request_id),
      agent_id: holders.get(request_id),
      event: events.get(request_id)?.event,
    };
  }

  return {
    ids,
    submitted: (request_id) => void ids.push(request_id),
    cancelled: (request_id) => void cancelled.add(request_id),
    reported: (request_id, output) => void outputs.set(request_id, output),
    handed: (request_id, agent_id) => void holders.set(request_id, agent_id),
    shown(id, event) {
      const request_id = String(event.request_id);
      const before = events.get(request_id);
      if (before) broken.push(`${request_id}: shown twice, as ${before.id} and ${id}`);
      events.set(request_id, { id, event });
    },
    count: () => ({
      submitted: ids.length,
      cancelled: cancelled.size,
      reported: outputs.size,
      claimed: [...holders.values()].filter((agent_id) => agent_id === 'puller').length,
      pushed: [...holders.values()].filter((agent_id) => agent_id === 'pusher').length,
      shown: events.size,
    }),
    async check(url, { unavailable } = { unavailable: false }) {
      const found: string[] = [...broken];
      for (const request_id of [...ids]) {
        // What is promised while the question is on its way is not yet in the answer.
        const promised = recall(request_id);
        const answer = await get(url, `/api/cli/tasks/${request_id}`);
        if (unavailable && answer.status === 503) continue;
        found.push(...judge(promised, answer).map((what) => `${request_id}: ${what}`));
      }
      return found;
    },
  };
}

/** What of the promises is not so. */
function judge(
  { cancelled, output, agent_id, event }: Promised,
  { status, body }: Answer,
): readonly string[] {
  const found: string[] = [];
  const tell = (what: string): void => void found.push(`${what}; now ${status} ${JSON.stringify(body)}`);
  if (status !== 200) {
    tell('was answered 200');
    return found;
  }
  if (cancelled && body.error_info !== 'cancelled by user') tell('its cancel was answered 200');
  if (output !== undefined && (body.result as { output?: string } | null)?.output !== output) {
    tell(`its report "${output}" was accepted`);
  }
  if (agent_id !== undefined && body.agent_id !== agent_id) tell(`it was given to ${agent_id}`);
  if (event) {
    const { request_id, result, error_info } = body;
    const now = { event: 'task_done', request_id, status: body.status, result, error_info };
    if (JSON.stringify(event) !== JSON.stringify(now))
      tell(`its event was shown as ${JSON.stringify(event)}`);
  }
  return found;
}
