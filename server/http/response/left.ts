/** When the caller of a request leaves. */
import type { Context } from 'koa';

/**
 * Calls `onLeft` when the response has closed. A response that waits behind another of its connection gets no
 * such event from Node when its socket closes, so that counts too.
 */
export function onClose({ req: { socket }, res }: Context, onLeft: () => void): void {
  const leave = (): void => {
    res.off('close', leave);
    socket.off('close', leave);
    onLeft();
  };
  if (res.closed || socket.destroyed) onLeft();
  else {
    res.once('close', leave);
    socket.once('close', leave);
  }
}

/** Fires when the caller leaves before its response. */
export function signalLeft(ctx: Context): AbortSignal {
  const left = new AbortController();
  onClose(ctx, () => left.abort('closed'));
  return left.signal;
}
