/**
 * The signal that a handler is given. A listener of an ordinary signal that throws, or returns a promise that
 * rejects, ends the process, and with it all other tasks. One of this signal is printed, and nothing else.
 */
import { setMaxListeners } from 'node:events';
import { runCallback } from '../log.ts';

const LISTENER = 'a listener of a handler’s signal';
/** How many signals are firing. */
let firing = 0;
/** The signals whose listeners are guarded. */
const guardedSignals = new WeakSet<AbortSignal>();
let isDerivingGuarded = false;

type Listener = Parameters<AbortSignal['addEventListener']>[1];
type ListenerOptions = Parameters<AbortSignal['addEventListener']>[2];

/** Creates the controller of a handler's signal. */
export function createHandlerController(): AbortController {
  const controller = new AbortController();
  const { signal } = controller;
  // A handler may start as many things with its signal as it likes; Node 20 warns of more than ten.
  setMaxListeners(0, signal);
  guardListeners(signal);
  guardDerived();
  controller.abort = (reason) => catchLinked(() => AbortController.prototype.abort.call(controller, reason));
  return controller;
}

function guardListeners(signal: AbortSignal): void {
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
  guardedSignals.add(signal);
}

/** From the first handler on, `AbortSignal.any` also guards what it derives from a guarded signal. */
function guardDerived(): void {
  if (isDerivingGuarded) return;
  isDerivingGuarded = true;
  const derive = AbortSignal.any.bind(AbortSignal);
  const value = (signals: Iterable<AbortSignal>): AbortSignal => {
    const sources = [...signals];
    const derived = derive(sources);
    if (sources.some((one) => guardedSignals.has(one))) guardListeners(derived);
    return derived;
  };
  // Where the platform's objects are frozen, this changes nothing.
  Reflect.defineProperty(AbortSignal, 'any', { value });
}

function callListener(signal: AbortSignal, listener: Listener, event: Event): void {
  runCallback(LISTENER, () =>
    typeof listener === 'function' ? listener.call(signal, event) : listener.handleEvent(event),
  );
}

/**
 * Fires the signal, and prints what listeners of other signals throw that one of its own listeners fires:
 * those of a controller that a handler has linked to it can't be guarded. Node throws that in a tick of its
 * own, before one that is asked for behind it; what an asynchronous listener throws at once, in a tick behind
 * the next promises.
 */
function catchLinked(fire: () => void): void {
  if (firing === 0 && process.hasUncaughtExceptionCaptureCallback()) {
    fire();
    return;
  }
  firing += 1;
  if (firing === 1) {
    process.setUncaughtExceptionCaptureCallback((error) =>
      runCallback(LISTENER, () => {
        throw error;
      }),
    );
  }
  fire();
  const end = (): void => {
    firing -= 1;
    if (firing === 0) process.setUncaughtExceptionCaptureCallback(null);
  };
  process.nextTick(() => queueMicrotask(() => process.nextTick(end)));
}
