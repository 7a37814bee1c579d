/**
 * When the earliest due entry is due, as far as this process knows: from the last reply to `take_due`, and
 * from the notifications since. Replies and notifications come over two connections, so a notification may
 * overtake the reply to a call that Redis served before it. So, if a time was noted while a call was under
 * way, it still counts after the reply: at worst the process looks once too often.
 */
export type NextDue = {
  /** Undefined when nothing will be due. */
  ms(): number | undefined;
  /** A notification: an entry is due then. */
  note(atMs: number): void;
  /** Begins a call of `take_due`; the result takes what it replied. */
  begin(): (earliestMs: number | undefined) => void;
};

/** Creates it knowing of no entry. Memory grows with the calls under way. */
export function createNextDue(): NextDue {
  let earliestMs: number | undefined;
  const underWay = new Set<{ notedMs: number | undefined }>();
  const earlier = (one: number | undefined, other: number | undefined): number | undefined =>
    one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);

  return {
    ms: () => earliestMs,
    note(atMs) {
      earliestMs = earlier(earliestMs, atMs);
      for (const call of underWay) call.notedMs = earlier(call.notedMs, atMs);
    },
    begin() {
      const call: { notedMs: number | undefined } = { notedMs: undefined };
      underWay.add(call);
      return (repliedMs) => {
        underWay.delete(call);
        earliestMs = earlier(repliedMs, call.notedMs);
      };
    },
  };
}
