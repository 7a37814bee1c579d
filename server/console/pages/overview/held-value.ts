/**
 * A value that would move other parts of a page as it changes. It is held while the pointer is over them and
 * moves, so that nothing moves under it. A pointer that rests holds nothing: a person may only look at the
 * page.
 */
import { useEffect, useRef, useState } from 'preact/hooks';

/** A pointer that has not moved for this long rests. */
const RESTS_AFTER_MS = 5_000;

/** The handlers of the element around those parts. */
type PointerHandlers = {
  readonly onPointerMove: (event: PointerEvent) => void;
  readonly onPointerLeave: () => void;
};

type PointedAt<Value> = {
  /** The value to show: while the pointer moves, that of when it came. */
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
