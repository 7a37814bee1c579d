/** The space that a database has: what its file system has, and the free pages of its own. */
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Space, thresholdOf } from '../disk-space.ts';
import type { Reader } from './database.ts';

/**
 * Reads it; undefined where the file system does not say. The free pages are counted only where they may
 * matter.
 */
export async function readFreeSpace(
  path: string,
  reader: Pick<Reader, 'freeBytes'>,
): Promise<Space | undefined> {
  const { bavail, blocks, bsize } = await statfs(dirname(path));
  if (blocks === 0) return undefined;
  const space = { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
  if (space.freeBytes > 2 * thresholdOf(1, space)) return space;
  return { ...space, freeBytes: space.freeBytes + reader.freeBytes() };
}
