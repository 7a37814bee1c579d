/**
 * Holds a value whose change would move other parts of a page, so that nothing moves under the pointer. The
 * value is held while the pointer moves over these parts. A pointer that rests holds nothing: a person may
 * only look at the page.
 */
import { useEffect, useRef, useState } from 'preact/hooks';

/** After this long without a move, a pointer counts as resting. */
const RESTS_AFTER_MS = 5_000;

/** The handlers of the element around the parts. */
type PointerHandlers = {
  readonly onPointerMove: (event: PointerEvent) => void;
  readonly onPointerLeave: () => void;
};

type PointedAt<Value> = {
  /** The value to show. While the pointer moves, it is the value from when the pointer came. */
  readonly shown: Value;
  readonly pointer: PointerHandlers;
  /** Shows the present value even though the pointer is there. */
  release(): void;
};

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
        // A finger holds nothing, because it is there only while it touches.
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
