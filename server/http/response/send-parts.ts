/**
 * Sending a body that is rendered in parts, as fast as its reader takes them: memory holds one slice of it,
 * however long it is. If everything fits into the first slice, it is sent as any other body. The slices
 * behind it are rendered in rotation with all other large work.
 */
import type { Context } from 'koa';
import type { LargeWork } from '../../async/large-work.ts';
import type { Caller } from '../../ports/caller.ts';
import type { Log } from '../../ports/log.ts';
import { createResponseWriter, type WriterDeps } from './response-writer.ts';

/** Characters that are rendered before everything else goes on: about a millisecond. */
const SLICE_CHARS = 131_072;

export type PartsDeps = {
  readonly writers: WriterDeps;
  readonly largeWork: LargeWork;
  readonly log: Pick<Log, 'error'>;
};

/**
 * Responds with the parts, one after the other; the caller has set the status and the type. Rejects when the
 * first parts can't be rendered; an error behind them is logged and ends the connection, since the status is
 * sent.
 */
export async function respondInParts(
  { writers, largeWork, log }: PartsDeps,
  ctx: Context,
  caller: Caller,
  parts: AsyncIterable<string>,
): Promise<void> {
  const slices = joinParts(parts);
  const nextSlice = () => largeWork.run({ caller, order: 'large' }, () => slices.next());
  const first = await slices.next();
  // A short body waits for nothing.
  const isShort = (first.value ?? '').length < SLICE_CHARS;
  const second = isShort ? await slices.next() : await nextSlice();
  if (second.done || ctx.method === 'HEAD') {
    ctx.body = first.value ?? '';
    if (!second.done) ctx.remove('Content-Length');
    await slices.return(undefined);
    return;
  }
  ctx.respond = false;
  void writeSlices(ctx, writers, `${first.value}${second.value}`, nextSlice)
    .finally(() => slices.return(undefined))
    .catch((error: unknown) => {
      log.error(
        { err: error, operation: ctx._matchedRouteName },
        'a response was cut off behind its first part',
      );
      // Half a body must not look like a whole one.
      ctx.res.destroy();
    });
}

/** Writes slices until there are no more or the reader is gone. */
async function writeSlices(
  { res }: Context,
  writers: WriterDeps,
  firstSlice: string,
  nextSlice: () => Promise<IteratorResult<string, void>>,
): Promise<void> {
  const writer = createResponseWriter(res, writers);
  await writer.write(Buffer.from(firstSlice));
  while (!writer.signal.aborted) {
    const slice = await nextSlice();
    if (slice.done) break;
    await writer.write(Buffer.from(slice.value));
  }
  res.end();
}

async function* joinParts(parts: AsyncIterable<string>): AsyncGenerator<string, void> {
  let slice = '';
  for await (const part of parts) {
    slice += part;
    if (slice.length < SLICE_CHARS) continue;
    yield slice;
    slice = '';
  }
  if (slice !== '') yield slice;
}
