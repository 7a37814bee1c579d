/**
 * The earliest due time that this process knows, from the last reply to `take_due` and from notifications
 * since. Notifications come over a connection of their own, so a notification may overtake the reply to an
 * earlier call. So a time that is noted while a call is under way still counts after the reply. At worst the
 * process looks once too often.
 */
export type NextDue = {
  /** Undefined when nothing will be due. */
  ms(): number | undefined;
  /** Notes a notification that an entry will be due at this time. */
  note(atMs: number): void;
  /** Begins a call of `take_due`. The returned function takes the earliest time of the reply. */
  begin(): (earliestMs: number | undefined) => void;
};

/** Memory grows with the calls under way. */
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
