/** How the calls of the store port fail. */

/**
 * Why a store cannot reply. Everybody may read the kind, but not the message, which may name addresses, paths
 * and users.
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

/** The store cannot reply. Whether a commit was applied is unknown. */
export class StoreUnavailable extends Error {
  override readonly name: string = 'StoreUnavailable';
  readonly kind: OutageKind;

  constructor(message: string, options: { readonly kind?: OutageKind; readonly cause?: unknown } = {}) {
    super(message, options);
    this.kind = options.kind ?? 'silent';
  }
}

/**
 * The store is nearly full, or too many calls wait for it, so the call was refused and changed nothing.
 * Callers read the message, so it names no address and no path.
 */
export class StoreRefused extends StoreUnavailable {
  override readonly name = 'StoreRefused';
}

/**
 * One stored value can never be read again. That is no outage: everything else can be read. The message names
 * the key or id of the value, and nothing of its content.
 */
export class StoreDamaged extends Error {
  override readonly name = 'StoreDamaged';
  /** The key of the damaged row, if a row of a table is damaged. */
  readonly key: string | undefined;

  constructor(message: string, key?: string) {
    super(message);
    this.key = key;
  }
}

/** The reader of a feed fell behind, and its next events were trimmed. It may read again from its cursor. */
export class FeedTrimmed extends Error {
  override readonly name = 'FeedTrimmed';
}
