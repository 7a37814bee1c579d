/**
 * Rows sorted by something that changes. They keep their order while the pointer or the focus is among them,
 * so that nothing moves under the pointer.
 */
import { useRef, useState } from 'preact/hooks';

/** Sorts rows in their earlier order. New rows come last, in their own order. Pure. */
export function keepOrder<Row>(
  before: readonly string[],
  rows: readonly Row[],
  keyOf: (row: Row) => string,
): readonly Row[] {
  const positions = new Map(before.map((key, index) => [key, index]));
  const positionOf = (row: Row): number => positions.get(keyOf(row)) ?? before.length;
  return rows.toSorted((a, b) => positionOf(a) - positionOf(b));
}

/** The handlers of the element around the rows. */
export type HoldHandlers = {
  readonly onPointerEnter: () => void;
  readonly onPointerLeave: () => void;
  readonly onFocusIn: () => void;
  readonly onFocusOut: () => void;
};

/** Returns the rows in the order to show, and what the element around them must listen to. */
export function useHeldOrder<Row>(
  rows: readonly Row[],
  keyOf: (row: Row) => string,
): { readonly rows: readonly Row[]; readonly hold: HoldHandlers } {
  const order = useRef<readonly string[]>([]);
  const [holders, setHolders] = useState({ pointer: false, focus: false });
  const shown = holders.pointer || holders.focus ? keepOrder(order.current, rows, keyOf) : rows;
  order.current = shown.map(keyOf);
  return {
    rows: shown,
    hold: {
      onPointerEnter: () => setHolders((now) => ({ ...now, pointer: true })),
      onPointerLeave: () => setHolders((now) => ({ ...now, pointer: false })),
      onFocusIn: () => setHolders((now) => ({ ...now, focus: true })),
      onFocusOut: () => setHolders((now) => ({ ...now, focus: false })),
    },
  };
}
