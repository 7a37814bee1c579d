/**
 * Loaded into a process before anything else: its monotonic clock and its timers run `CLOCK_SPEED` times as
 * fast, so that it lives through minutes of silence in seconds. Its promises hold by its own clock.
 */
const speed = Number(process.env.CLOCK_SPEED ?? 1);
const monotonicMs = performance.now.bind(performance);
const { setTimeout: realTimeout, setInterval: realInterval } = globalThis;

performance.now = () => monotonicMs() * speed;
globalThis.setTimeout = quicken(realTimeout);
globalThis.setInterval = quicken(realInterval);

/** Keeps the other properties of the function, which `util.promisify` reads. */
function quicken<T extends typeof realTimeout | typeof realInterval>(start: T): T {
  return new Proxy(start, {
    apply: (target, self, [work, ms, ...rest]) =>
      Reflect.apply(target, self, [work, Number(ms ?? 0) / speed, ...rest]),
  });
}
