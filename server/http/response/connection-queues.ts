/**
 * One request of a connection at a time. Requests that a caller sends before it has the response to the first
 * wait, so that no connection holds more than one response, and what a caller does not read is
 * not rendered for it a second time.
 *
 * Cost: one entry for each connection with a request, and what waits there: at most `WAITING_MAX` requests
 * and those of one read of the socket, which is paused until there are fewer.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Requests that may wait on one connection before it is read no further. */
const WAITING_MAX = 16;

/** A request that waits. */
type WaitingRequest = { readonly response: ServerResponse; readonly serve: () => void };

/** A connection whose request is being served. */
type Queue = { readonly waiting: WaitingRequest[]; isPaused: boolean };

export type ConnectionQueues = {
  /** The responses in progress: one for each connection at most. */
  readonly responses: ReadonlySet<ServerResponse>;
  /** Serves the request now, or when the responses before it on its connection have been sent. */
  serveInOrder(request: IncomingMessage, response: ServerResponse, serve: () => void): void;
};

/** Creates it with no request in progress. */
export function createConnectionQueues(): ConnectionQueues {
  const responses = new Set<ServerResponse>();
  const queues = new WeakMap<Socket, Queue>();

  function start(socket: Socket, { response, serve }: WaitingRequest): void {
    responses.add(response);
    response.once('close', () => {
      responses.delete(response);
      startNext(socket);
    });
    serve();
  }

  function startNext(socket: Socket): void {
    const queue = queues.get(socket);
    const next = queue?.waiting.shift();
    // After `Connection: close` no further response is sent.
    if (!queue || !next || socket.destroyed || socket.writableEnded) {
      queues.delete(socket);
      return;
    }
    if (queue.isPaused && queue.waiting.length < WAITING_MAX) {
      queue.isPaused = false;
      socket.resume();
    }
    start(socket, next);
  }

  return {
    responses,
    serveInOrder({ socket }, response, serve) {
      const queue = queues.get(socket);
      if (!queue) {
        queues.set(socket, { waiting: [], isPaused: false });
        start(socket, { response, serve });
        return;
      }
      queue.waiting.push({ response, serve });
      if (queue.waiting.length < WAITING_MAX) return;
      queue.isPaused = true;
      socket.pause();
    },
  };
}
