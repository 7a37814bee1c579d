/**
 * What would move other parts of a page as it changes: it is held while the pointer is over them and moves,
 * so that nothing moves under it. A pointer that rests holds nothing: the page may be one that is only looked
 * at.
 */
import { useEffect, useRef, useState } from 'preact/hooks';

/** A pointer that has not moved for so long rests. */
const RESTS_AFTER_MS = 5_000;

/** What the element around those parts listens to. */
type PointerHandlers = {
  readonly onPointerMove: (event: PointerEvent) => void;
  readonly onPointerLeave: () => void;
};

type PointedAt<Value> = {
  /** What to show: of when the pointer came, while it moves. */
  readonly shown: Value;
  readonly pointer: PointerHandlers;
  /** Shows the present value though the pointer is there. */
  release(): void;
};

/** Holds a value. */
export function useHeldValue<Value>(value: Value): PointedAt<Value> {
  const [isHeld, setHeld] = useState(false);
  const held = useRef(value);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const release = (): void => {
    clearTimeout(timer.current);
    held.current = value;
    setHeld(false);
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  if (!isHeld) held.current = value;
  return {
    shown: held.current,
    release,
    pointer: {
      onPointerMove({ pointerType }) {
        // A finger is there only while it touches.
        if (pointerType !== 'mouse') return;
        clearTimeout(timer.current);
        timer.current = setTimeout(() => setHeld(false), RESTS_AFTER_MS);
        setHeld(true);
      },
      onPointerLeave: () => {
        clearTimeout(timer.current);
        setHeld(false);
      },
    },
  };
}
