/**
 * A task's output at the store port: numbered pieces, which are only ever added. The store keeps each piece
 * as a JSON text and does not look into it.
 */

/**
 * Pieces that a writer adds to a task's output, each as its JSON text without a number. The engine numbers
 * them from 1 over the task's whole life, without holes, and never uses a number again.
 */
export type OutputAppend = {
  readonly request_id: string;
  readonly pieces: readonly string[];
  /**
   * The writer, and how many pieces it has sent before. Pieces that are stored already are skipped, so a call
   * may be repeated. The name of a writer is not empty and has no control character. An empty piece counts as
   * sent, but is not stored.
   */
  readonly by: { readonly writer: string; readonly from: number };
};

/** How a commit changes the output of the task that it writes. `begins` is applied before `append`. */
export type OutputChange = {
  readonly request_id: string;
  /**
   * From now on this writer alone appends, beginning with its piece 0; null: nobody appends until a writer
   * begins. If the output already has pieces, `reset` is stored before those of the new writer. Conflict
   * `full` if not even the reserve has room for `reset`.
   *
   * Nothing begins if this is the present writer already, or if it is null and there is no output. For
   * example, when a writer's first call comes twice at once, one call begins and the other finds its pieces
   * stored. While a writer is present, the last ten replaced writers may not begin again (conflict
   * `replaced`), because the first call of a replaced writer may come very late.
   */
  readonly begins?: { readonly writer: string | null; readonly reset?: string };
  /** Without `by`, the pieces are the gateway's own, which are always needed. */
  readonly append?: Pick<OutputAppend, 'pieces'> & {
    readonly by?: OutputAppend['by'];
    /**
     * The pieces may use the reserve beyond the task's limit, as a question does. Conflict `full` if the
     * reserve is not enough, or if all output together has no room. While output of settled tasks is still
     * being removed, the commit throws `StoreRefused`, as `appendOutput` does.
     */
    readonly isNeeded?: boolean;
    /** All pieces are stored, or none and the conflict is `full`. Needed pieces are always stored so. */
    readonly isWhole?: boolean;
    /** Pieces of the gateway's own, which are stored after `pieces`, even if `pieces` are stored already. */
    readonly behind?: readonly string[];
  };
};

/** Whether the pieces may use the reserve beyond the task's limit. */
export function isNeeded({ by, isNeeded = by === undefined }: NonNullable<OutputChange['append']>): boolean {
  return isNeeded;
}

/** How a task's output stands. */
export type OutputHead = {
  /** How many pieces the present writer has stored. Its next piece has this number. */
  readonly next: number;
  /** The number of the last piece, 0 before the first. */
  readonly last: number;
  /** Whether pieces were refused at a limit of bytes. The output then takes no further pieces of a writer. */
  readonly isFull: boolean;
};

/** Why pieces were not appended. */
export type OutputConflict =
  /** The task is not open. */
  | { readonly ok: false; readonly conflict: 'settled' }
  /** Not even the reserve has room. */
  | { readonly ok: false; readonly conflict: 'full' }
  /** Another writer is present, or no writer has begun. */
  | { readonly ok: false; readonly conflict: 'writer' }
  /** The present writer, or one before it, replaced this writer. */
  | { readonly ok: false; readonly conflict: 'replaced' }
  /** `from` is beyond the `next` pieces that the writer has stored. */
  | { readonly ok: false; readonly conflict: 'gap'; readonly next: number };

export type OutputPage = {
  /** Each piece has its number and its JSON text. No number is left out. */
  readonly pieces: readonly { readonly n: number; readonly json: string }[];
  /** The number of the last stored piece, on this page or behind it; 0 without output. */
  readonly last: number;
  /**
   * `truncated`: pieces were refused at a limit. `removed`: all pieces were removed to make room; `last`
   * stays.
   */
  readonly missing: 'truncated' | 'removed' | null;
  /**
   * The revision of the task's state, read no later than the pieces: no piece from before this revision is
   * missing. Null without a task.
   */
  readonly revision: string | null;
};
