/**
 * A task's output at the store port: numbered pieces that are only added. The store keeps them as JSON texts
 * and looks into none.
 */

/**
 * Pieces that a writer adds to a task's output, each as its JSON text without a number. The engine numbers
 * them from 1 over the task's whole life, without holes, and never uses a number again.
 */
export type OutputAppend = {
  readonly request_id: string;
  readonly pieces: readonly string[];
  /**
   * Who writes, and how many pieces it has sent before. Pieces that it has stored already are skipped, so a
   * call may be repeated. The writer is never empty, and has no control character. An empty piece counts as
   * sent, and nothing is stored of it.
   */
  readonly by: { readonly writer: string; readonly from: number };
};

/** How a commit changes the output of the task that it writes: first who writes, then what is added. */
export type OutputChange = {
  readonly request_id: string;
  /**
   * From now on this writer alone appends, beginning with its piece 0; null: none does, until one begins. If
   * the output has pieces already, `reset` is stored before those of the new writer. Conflict `full` if not
   * even the reserve has room for it.
   *
   * Nothing begins where this is the present writer already, or null and there is no output. For example, a
   * writer's first call comes twice at once: one of them begins, and the other finds its pieces stored. While
   * another writes, none of the last ten that were replaced begins again, conflict `replaced`: what it sent
   * first may come very late.
   */
  readonly begins?: { readonly writer: string | null; readonly reset?: string };
  /** Without `by` they are pieces of the gateway's own, which are always needed. */
  readonly append?: Pick<OutputAppend, 'pieces'> & {
    readonly by?: OutputAppend['by'];
    /**
     * They are stored where the task has no room for others: a question, for example. Conflict `full` if they
     * would have more than the reserve beyond the task's limit, or if all output together has no room: for
     * that of settled tasks to be removed they wait as `appendOutput` does.
     */
    readonly isNeeded?: boolean;
    /** All or nothing: without room for them conflict `full`. Needed pieces are so anyway. */
    readonly isWhole?: boolean;
    /** Pieces of the gateway's own, stored behind these even if these are stored already. */
    readonly behind?: readonly string[];
  };
};

/** Whether the pieces are stored also where there is no room for others. */
export function isNeeded({ by, isNeeded = by === undefined }: NonNullable<OutputChange['append']>): boolean {
  return isNeeded;
}

/** How a task's output stands. */
export type OutputHead = {
  /** How many pieces the present writer has stored: what it sends next begins there. */
  readonly next: number;
  /** The number of the last piece, 0 before the first. */
  readonly last: number;
  /** Whether pieces were refused because a limit of bytes was reached. It takes none of a writer any more. */
  readonly isFull: boolean;
};

/** Why pieces were not appended. */
export type OutputConflict =
  /** The task is not open. */
  | { readonly ok: false; readonly conflict: 'settled' }
  /** Not even the reserve has room for it. */
  | { readonly ok: false; readonly conflict: 'full' }
  /** Another writer began, or none has. */
  | { readonly ok: false; readonly conflict: 'writer' }
  /** This writer was replaced by the present one, or by one before it. */
  | { readonly ok: false; readonly conflict: 'replaced' }
  /** `from` is beyond what the writer has stored: `next` pieces. */
  | { readonly ok: false; readonly conflict: 'gap'; readonly next: number };

/** A page of a task's output. */
export type OutputPage = {
  /** Each with its number and its JSON text, without a hole. */
  readonly pieces: readonly { readonly n: number; readonly json: string }[];
  /** The number of the last piece that is stored, on this page or behind it; 0 without output. */
  readonly last: number;
  /** `truncated`: pieces were refused at a limit; `removed`: all were removed to make room; `last` stays. */
  readonly missing: 'truncated' | 'removed' | null;
  /**
   * The revision of the task's state, read no later than the pieces: none from before it is missing. Null
   * where there is no task.
   */
  readonly revision: string | null;
};
