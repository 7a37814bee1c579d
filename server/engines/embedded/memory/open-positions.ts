/** The positions of the open tasks, pending and running ones apart: so they are counted, and listed. */
import BTreeModule from 'sorted-btree';
import type { OpenClass } from '../../../domain/task-counts.ts';
import { lastPart } from '../sqlite/row-keys.ts';

const BTree = BTreeModule.default;

type Listed = { readonly request_id: string; readonly position: string };
/** Positions from `from` (included) to `below` (excluded; undefined: to the last). */
export type PositionRange = { readonly from: string; readonly below: string | undefined };

export type OpenPositions = {
  /** Idempotent. */
  add(openClass: OpenClass, position: string): void;
  /** Idempotent. */
  remove(openClass: OpenClass, position: string): void;
  count(openClass: OpenClass): number;
  /** At most `limit` tasks of these classes in the range, newest first. */
  list(classes: readonly OpenClass[], range: PositionRange, limit: number): readonly Listed[];
};

/** Creates it empty. A change costs the logarithm of their number, and so does each item of a listing. */
export function createOpenPositions(): OpenPositions {
  const positions = {
    pending: new BTree<string, undefined>(),
    running: new BTree<string, undefined>(),
  };

  /** The greatest position of these classes below the given one. */
  function findNext(classes: readonly OpenClass[], below: string | undefined): string | undefined {
    let next: string | undefined;
    for (const openClass of classes) {
      const position = positions[openClass].nextLowerKey(below);
      if (position !== undefined && (next === undefined || position > next)) next = position;
    }
    return next;
  }

  return {
    add: (openClass, position) => void positions[openClass].set(position, undefined),
    remove: (openClass, position) => void positions[openClass].delete(position),
    count: (openClass) => positions[openClass].size,
    list(classes, { from, below }, limit) {
      const found: Listed[] = [];
      let position = findNext(classes, below);
      while (position !== undefined && position >= from && found.length < limit) {
        found.push({ request_id: lastPart(position), position });
        position = findNext(classes, position);
      }
      return found;
    },
  };
}
