/**
 * The signal that a handler is given. A listener of an ordinary signal that throws, or returns a promise that
 * rejects, ends the process, and with it all other tasks. One of this signal is printed, and nothing else.
 */
import { setMaxListeners } from 'node:events';
import { runCallback } from '../log.ts';

type Listener = Parameters<AbortSignal['addEventListener']>[1];
type ListenerOptions = Parameters<AbortSignal['addEventListener']>[2];

/** Creates the controller of a handler's signal. */
export function createHandlerController(): AbortController {
  const controller = new AbortController();
  const { signal } = controller;
  // A handler may start as many things with its signal as it likes; Node 20 warns of more than ten.
  setMaxListeners(0, signal);
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  const guardedOf = new WeakMap<object, (event: Event) => void>();

  /** Returns the same function for the same listener, so that it is added once and can be removed. */
  function guard(listener: Listener): (event: Event) => void {
    const guarded = guardedOf.get(listener) ?? ((event) => callListener(signal, listener, event));
    guardedOf.set(listener, guarded);
    return guarded;
  }

  Object.defineProperties(signal, {
    addEventListener: {
      value: (type: string, listener: Listener | null, options?: ListenerOptions) =>
        listener && add(type, guard(listener), options),
    },
    removeEventListener: {
      value: (type: string, listener: Listener | null, options?: ListenerOptions) =>
        listener && remove(type, guard(listener), options),
    },
  });
  return controller;
}

function callListener(signal: AbortSignal, listener: Listener, event: Event): void {
  runCallback('a listener of a handler’s signal', () =>
    typeof listener === 'function' ? listener.call(signal, event) : listener.handleEvent(event),
  );
}
