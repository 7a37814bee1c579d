/** What the gateway promised in its answers, kept so that it can be held to it after every crash. */
import { type Answer, get } from '../e2e/wire.ts';

export type History = {
  submitted(request_id: string): void;
  cancelled(request_id: string): void;
  /** A report that was answered `accepted: true`, with the output it carried. */
  reported(request_id: string, output: string): void;
  /** An event a subscriber was shown. */
  shown(id: string, event: Readonly<Record<string, unknown>>): void;
  readonly ids: readonly string[];
  count(): {
    readonly submitted: number;
    readonly cancelled: number;
    readonly reported: number;
    readonly shown: number;
  };
  /** Compares every promise with what the gateway says now; answers the broken ones. A 503 says nothing, where allowed. */
  check(url: string, allowed?: { readonly unavailable: boolean }): Promise<readonly string[]>;
};

/** Creates an empty history. */
export function createHistory(): History {
  const ids: string[] = [];
  const cancelled = new Set<string>();
  const outputs = new Map<string, string>();
  const events = new Map<
    string,
    { readonly id: string; readonly event: Readonly<Record<string, unknown>> }
  >();
  const broken: string[] = [];

  function judge(request_id: string, { status, body }: Answer): readonly string[] {
    const found: string[] = [];
    const tell = (what: string): void =>
      void found.push(`${request_id}: ${what}; now ${JSON.stringify(body)}`);
    if (status !== 200) {
      tell(`was answered 200 and is ${status}`);
      return found;
    }
    if (cancelled.has(request_id) && body.error_info !== 'cancelled by user')
      tell('its cancel was answered 200');
    const output = outputs.get(request_id);
    if (output !== undefined && (body.result as { output?: string } | null)?.output !== output) {
      tell(`its report "${output}" was accepted`);
    }
    const event = events.get(request_id)?.event;
    if (event) {
      const { result, error_info } = body;
      const now = { event: 'task_done', request_id, status: body.status, result, error_info };
      if (JSON.stringify(event) !== JSON.stringify(now))
        tell(`its event was shown as ${JSON.stringify(event)}`);
    }
    return found;
  }

  return {
    ids,
    submitted: (request_id) => void ids.push(request_id),
    cancelled: (request_id) => void cancelled.add(request_id),
    reported: (request_id, output) => void outputs.set(request_id, output),
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
      shown: events.size,
    }),
    async check(url, { unavailable } = { unavailable: false }) {
      const found: string[] = [...broken];
      for (const request_id of [...ids]) {
        const answer = await get(url, `/api/cli/tasks/${request_id}`);
        if (!(unavailable && answer.status === 503)) found.push(...judge(request_id, answer));
      }
      return found;
    },
  };
}
