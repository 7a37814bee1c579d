/** The hatchings that fill bars and timelines: `url(#h-wait)`, `url(#h-bad)`, `url(#h-fail)`. */
import type { VNode } from 'preact';

/** The hatchings with the angle of their strokes. The angle tells two apart that may both be red. */
const KINDS = [
  ['wait', 45],
  ['bad', 45],
  ['fail', -45],
] as const;

/** Draws the definitions, once in the page. */
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
