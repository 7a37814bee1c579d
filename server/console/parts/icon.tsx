/** The icons, drawn on 16 × 16 in the colour of the text. `f` is filled, `k` is cut out of what it is on. */
import type { VNode } from 'preact';

/** Shapes by name: `d` is a path, `c` a circle, `r` a rectangle with the radius of its corners. */
type Shape = {
  readonly d?: string;
  readonly c?: readonly [cx: number, cy: number, r: number];
  readonly r?: readonly [x: number, y: number, width: number, height: number, rx: number];
  readonly class?: 'f' | 'k';
  readonly dash?: string;
};

const RING: Shape = { c: [8, 8, 5.7] };
const DISC: Shape = { c: [8, 8, 6.2], class: 'f' };
const CROSS_IN_DISC: Shape = { d: 'm5.9 5.9 4.2 4.2m0-4.2-4.2 4.2', class: 'k' };

const SHAPES = {
  pending: [{ c: [8, 8, 5.5], dash: '2.2 2.1' }],
  running: [{ c: [8, 8, 5.5] }, { d: 'M8 4.2a3.8 3.8 0 0 1 0 7.6z', class: 'f' }],
  success: [DISC, { d: 'm5.3 8.2 1.9 1.9 3.6-4', class: 'k' }],
  failed: [DISC, CROSS_IN_DISC],
  no_agent: [{ r: [2.8, 2.8, 10.4, 10.4, 2], dash: '2.6 2' }, { d: 'm5.8 5.8 4.4 4.4m0-4.4-4.4 4.4' }],
  timeout: [RING, { d: 'M8 4.8V8l2.2 1.6' }],
  cancelled: [RING, { d: 'M5.4 8h5.2' }],
  agent_lost: [{ d: 'M2.5 8.5h2.2l1.6-4 2 7.5 1.2-3.5' }, { d: 'm11.2 7 3 3m0-3-3 3' }],
  ready: [{ c: [8, 8, 5.5] }, { c: [8, 8, 2], class: 'f' }],
  processing: [{ c: [8, 8, 6], class: 'f' }],
  draining: [RING, { d: 'M8 5v5.6M5.8 8.6 8 10.8l2.2-2.2' }],
  offline: [RING, { d: 'm4.2 11.8 7.6-7.6' }],
  full: [{ r: [2.8, 2.8, 10.4, 10.4, 2], class: 'f' }],
  none: [{ d: 'M4 8h8' }],
  refused: [{ d: 'M12.5 12V8.5a2.5 2.5 0 0 0-2.5-2.5H4m0 0 2.8-2.8M4 6l2.8 2.8' }],
  alert: [
    { d: 'M5.4 1.5h5.2l3.9 3.9v5.2l-3.9 3.9H5.4l-3.9-3.9V5.4z', class: 'f' },
    { d: 'M8 4.6v4M8 11v.2', class: 'k' },
  ],
  warn: [{ d: 'M8 2.2 14.3 13.3H1.7z' }, { d: 'M8 6.4v3.2M8 11.4v.2' }],
  info: [RING, { d: 'M8 7.4v3.4M8 5.2v.2' }],
  check: [{ d: 'm3.2 8.4 3 3 6.6-7' }],
  cross: [{ d: 'm4 4 8 8m0-8-8 8' }],
  search: [{ c: [7, 7, 4.2] }, { d: 'm10.2 10.2 3.3 3.3' }],
  filter: [{ d: 'M2.5 4h11M4.8 8h6.4M6.8 12h2.4' }],
  theme: [RING, { d: 'M8 2.3a5.7 5.7 0 0 1 0 11.4z', class: 'f' }],
  lock: [{ r: [3.2, 7, 9.6, 6.3, 1.4] }, { d: 'M5.4 7V5.2a2.6 2.6 0 0 1 5.2 0V7' }],
  copy: [
    { r: [5.5, 5.5, 7.8, 7.8, 1.4] },
    { d: 'M10.5 5.3V3.9c0-.7-.5-1.2-1.2-1.2H3.9c-.7 0-1.2.5-1.2 1.2v5.4c0 .7.5 1.2 1.2 1.2h1.4' },
  ],
  again: [{ d: 'M13 8a5 5 0 1 1-1.6-3.7M13 2.6v2.6h-2.6' }],
  pause: [{ d: 'M5.5 4v8m5-8v8' }],
  resume: [{ d: 'M5.5 3.8v8.4l6.5-4.2z', class: 'f' }],
  down: [{ d: 'm4.5 6.5 3.5 3.5 3.5-3.5' }],
  right: [{ d: 'm6.5 4.5 3.5 3.5-3.5 3.5' }],
  link: [
    { d: 'M6.8 9.2a2.6 2.6 0 0 0 3.7 0l2-2a2.6 2.6 0 1 0-3.7-3.7l-.6.6' },
    { d: 'M9.2 6.8a2.6 2.6 0 0 0-3.7 0l-2 2a2.6 2.6 0 1 0 3.7 3.7l.6-.6' },
  ],
  move: [{ d: 'M2.5 5h8.8m0 0L8.8 2.5M11.3 5 8.8 7.5M13.5 11H4.7m0 0 2.5-2.5M4.7 11l2.5 2.5' }],
  send: [{ d: 'M2.5 8h10m0 0L9 4.5M12.5 8 9 11.5' }],
  inbox: [{ d: 'M8 2.5v7m0 0L5 6.7m3 2.8 3-2.8M2.8 11v1.2c0 .7.5 1.2 1.2 1.2h8c.7 0 1.2-.5 1.2-1.2V11' }],
  dot: [{ c: [8, 8, 3.4], class: 'f' }],
  plus: [{ d: 'M8 3.5v9M3.5 8h9' }],
} satisfies Readonly<Record<string, readonly Shape[]>>;

export type IconName = keyof typeof SHAPES;

export type IconProps = {
  readonly name: IconName;
  readonly class?: string;
};

/** Draws an icon. Screen readers skip it, because a word stands beside it. */
export function Icon({ name, class: more = '' }: IconProps): VNode {
  const shapes: readonly Shape[] = SHAPES[name];
  return (
    <svg class={`i ${more}`} viewBox="0 0 16 16" aria-hidden="true">
      {shapes.map(drawShape)}
    </svg>
  );
}

function drawShape(shape: Shape, index: number): VNode {
  const paint = {
    key: index,
    ...(shape.class && { class: shape.class }),
    ...(shape.dash && { 'stroke-dasharray': shape.dash }),
  };
  if (shape.c) return <circle {...paint} cx={shape.c[0]} cy={shape.c[1]} r={shape.c[2]} />;
  if (shape.r) {
    const [x, y, width, height, rx] = shape.r;
    return <rect {...paint} {...{ x, y, width, height, rx }} />;
  }
  return <path {...paint} d={shape.d ?? ''} />;
}

/** Draws the ring of a running task, filled by `progress`, 0 to 100. */
export function ProgressIcon({ progress }: { readonly progress: number }): VNode {
  const angle = (Math.min(Math.max(progress, 0), 99.9) / 100) * 2 * Math.PI;
  const x = (8 + 3.8 * Math.sin(angle)).toFixed(2);
  const y = (8 - 3.8 * Math.cos(angle)).toFixed(2);
  return (
    <svg class="i" viewBox="0 0 16 16" aria-hidden="true">
      <circle cx="8" cy="8" r="5.5" />
      {progress > 0 && <path class="f" d={`M8 8V4.2A3.8 3.8 0 ${progress > 50 ? 1 : 0} 1 ${x} ${y}z`} />}
    </svg>
  );
}
