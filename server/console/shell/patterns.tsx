/** The hatchings that bars and timelines are filled with: `url(#h-wait)`, `url(#h-bad)`, `url(#h-fail)`. */
import type { VNode } from 'preact';

/** Each with the angle of its strokes: what waits and what is not usable are both red at times. */
const KINDS = [
  ['wait', 45],
  ['bad', 45],
  ['fail', -45],
] as const;

/** The definitions, once in the page. */
export function Patterns(): VNode {
  return (
    <svg class="defs" aria-hidden="true">
      <defs>
        {KINDS.map(([kind, angle]) => (
          <pattern
            key={kind}
            id={`h-${kind}`}
            width="6"
            height="6"
            patternUnits="userSpaceOnUse"
            patternTransform={`rotate(${angle})`}
          >
            <rect width="6" height="6" class={`p-${kind}-b`} />
            <path d="M0 0v6" class={`p-${kind}-l`} />
          </pattern>
        ))}
      </defs>
    </svg>
  );
}
