/** How the calls of the store port fail. */

/**
 * Why a store cannot reply, for everybody to read; the message of the failure may name addresses, paths and
 * users.
 */
export type OutageKind =
  | 'silent'
  | 'full'
  | 'disk_fails'
  | 'file_moved'
  | 'takes_no_writes'
  | 'damaged'
  | 'wrong_settings'
  | 'emptied'
  | 'starting'
  | 'closed';

/** The store cannot reply. Whether a commit was applied is unknown. Its kind is `silent` by default. */
export class StoreUnavailable extends Error {
  override readonly name: string = 'StoreUnavailable';
  readonly kind: OutageKind;

  constructor(message: string, options: { readonly kind?: OutageKind; readonly cause?: unknown } = {}) {
    super(message, options);
    this.kind = options.kind ?? 'silent';
  }
}

/**
 * The call was refused because the store is nearly full, or because too much waits for it, and nothing was
 * changed. The message names neither address nor path: callers read it.
 */
export class StoreRefused extends StoreUnavailable {
  override readonly name = 'StoreRefused';
}

/**
 * One stored value cannot be read, and will not be readable later. That is no outage: everything else can be
 * read. The message names its key or id, and nothing of what it holds.
 */
export class StoreDamaged extends Error {
  override readonly name = 'StoreDamaged';
  /** The key of the damaged row, where the store has rows and one of them is. */
  readonly key: string | undefined;

  constructor(message: string, key?: string) {
    super(message);
    this.key = key;
  }
}

/** The next events of a feed's reader were trimmed: it fell behind. It may read again from its cursor. */
export class FeedTrimmed extends Error {
  override readonly name = 'FeedTrimmed';
}
