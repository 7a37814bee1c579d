/**
 * One generation of the engine: an opened storage, the memory state that was loaded from it, the commits that
 * are written next, and a cache of recently written rows. It ends with a write that fails or takes too long;
 * then the next generation opens the storage again and loads a new state.
 */
import type { GroupCommit } from './group-commit.ts';
import { createFeedTails, type FeedTails } from './memory/feed-tails.ts';
import { createRecentRows, type FileReads, type RecentRows } from './memory/recent-rows.ts';
import type { FeedEnd, MemoryState } from './memory/state.ts';
import type { OrderedStorage } from './storage/ordered-storage.ts';
import type { Envelope } from './storage/row-keys.ts';

export type Generation = MemoryState & {
  readonly storage: OrderedStorage;
  readonly commits: GroupCommit;
  /** It was opened without its first write, while the disk takes none. */
  readonly isReadOnly: boolean;
  readonly fileReads: FileReads;
  /** Recently written rows by key; null for a removed row. */
  readonly recentRows: RecentRows<Envelope | null>;
  /** Recently changed ends of feeds by session. */
  readonly feedEnds: RecentRows<FeedEnd>;
  readonly feedTails: FeedTails;
};

/** Roughly how many characters of recent rows are kept in memory; older ones are read from the file. */
const RECENT_ROWS_CHARS_MAX = 4_000_000;
const FEED_ENDS_CHARS_MAX = 4_000_000;

/**
 * Creates a generation over a storage and the state that was loaded from it. `hasReaders`: whether a
 * session's feed is being read.
 */
export function createGeneration(
  state: MemoryState,
  storage: OrderedStorage,
  commits: GroupCommit,
  hasReaders: (session: string) => boolean,
  isReadOnly = false,
): Generation {
  const fileReads: FileReads = { count: 0 };
  return {
    ...state,
    storage,
    commits,
    isReadOnly,
    fileReads,
    recentRows: createRecentRows(RECENT_ROWS_CHARS_MAX, commits.isDurable, fileReads),
    feedEnds: createRecentRows(FEED_ENDS_CHARS_MAX, commits.isDurable, fileReads),
    feedTails: createFeedTails(hasReaders, commits.isDurable),
  };
}
