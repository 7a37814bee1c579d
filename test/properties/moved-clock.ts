/**
 * Loaded into a process before anything else: its wall clock runs ahead by `CLOCK_AHEAD_MS`, and at each
 * SIGWINCH jumps by the next of `CLOCK_JUMPS_MS`. Counts how often the program reads it, and prints the count
 * at each jump.
 */
const RealDate = Date;
const jumps = (process.env.CLOCK_JUMPS_MS ?? '').split(',').filter(Boolean).map(Number);
let aheadMs = Number(process.env.CLOCK_AHEAD_MS ?? 0);
let reads = 0;

function now(): number {
  reads += 1;
  return RealDate.now() + aheadMs;
}

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args) => Reflect.construct(target, args.length === 0 ? [now()] : args),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
});

process.on('SIGWINCH', () => {
  aheadMs += jumps.shift() ?? 0;
  console.log(JSON.stringify({ moved: aheadMs, reads }));
});
