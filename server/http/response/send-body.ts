/** Sending the body of a response: a small one at once, a large one only as fast as its reader takes it. */
import type { ServerResponse } from 'node:http';
import { writeJson } from '../../domain/json-text.ts';
import { createResponseWriter, SLICE_BYTES, type WriterDeps } from './response-writer.ts';

/**
 * Renders a reply that is not large as JSON. If it is too long for one slice, it becomes bytes, which are
 * counted while they wait for the reader.
 */
export function renderShortReply(reply: object): string | Buffer {
  const text = writeJson(reply);
  return Buffer.byteLength(text) > SLICE_BYTES ? Buffer.from(text) : text;
}

/** Whether a body is sent in slices. */
export function isLargeBody(body: unknown): body is Buffer {
  return Buffer.isBuffer(body) && body.length > SLICE_BYTES;
}

/**
 * Writes the whole body; resolves when the reader has taken it or is gone. The caller has set the headers,
 * and ends the response.
 */
export async function sendBody(response: ServerResponse, body: Buffer, writers: WriterDeps): Promise<void> {
  await createResponseWriter(response, writers).write(body);
}
