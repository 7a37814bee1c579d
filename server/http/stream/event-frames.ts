/** The frames of `text/event-stream` for the reader of an event stream, as the contract has them. */
import { writeJson } from '../../domain/json-text.ts';
import type { StreamItem } from '../../ports/gateway.ts';

/** Milliseconds a reader waits before it reconnects by itself. */
const RETRY_MS = 2_000;

/** The first bytes of every stream: they show the reader at once that it is connected. */
export const OPENING = `retry: ${RETRY_MS}\n\n: ready\n\n`;

/** A comment that keeps the connection open. */
export const PING = ': ping\n\n';

/** The frame that says when to reconnect. */
export function renderRetry(retryMs: number): string {
  return `retry: ${retryMs}\n\n`;
}

/**
 * The frame about missing events: as a comment for readers of lines, and as an event of its own type, which
 * `EventSource` shows to a page that listens for `gap`, and not to `onmessage`.
 */
const GAP = Buffer.from(': gap\nevent: gap\ndata: {}\n\n');

/** An event as an id and one line of data, nothing else; or a gap. */
export function renderItem(item: StreamItem): Buffer {
  if (item.gap) return GAP;
  const { event, request_id, status, result, error_info } = item.event;
  const data = writeJson({ event, request_id, status, result, error_info });
  return Buffer.from(`id: ${item.cursor}\ndata: ${data}\n\n`);
}
