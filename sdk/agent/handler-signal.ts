/**
 * The signal that a handler gets. If a listener of an ordinary signal throws, or returns a promise that
 * rejects, the process ends, and with it all other tasks. What a listener of this signal throws is only
 * printed.
 */
import { setMaxListeners } from 'node:events';
import { runCallback } from '../log.ts';

const LISTENER = 'a listener of a handler’s signal';
/** How many signals are firing now. */
let firing = 0;
/** The signals whose listeners are guarded. */
const guardedSignals = new WeakSet<AbortSignal>();
let isDerivingGuarded = false;

type Listener = Parameters<AbortSignal['addEventListener']>[1];
type ListenerOptions = Parameters<AbortSignal['addEventListener']>[2];

export function createHandlerController(): AbortController {
  const controller = new AbortController();
  const { signal } = controller;
  // A handler may start any number of things with its signal; Node 20 warns of more than ten.
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

  /** Returns the same guarded function for the same listener, so that it is added once and can be removed. */
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

/** From the first handler on, makes `AbortSignal.any` also guard what it derives from a guarded signal. */
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
 * Fires the signal, and prints what its own listeners make others throw. A handler may have linked a
 * controller to its signal, and the listeners of that controller can't be guarded. Node throws their errors
 * in a tick of its own, before a tick that is asked for later; what an asynchronous listener throws at once
 * comes in a tick after the next promises.
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
