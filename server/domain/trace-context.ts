/**
 * The trace that a call belongs to, from the two headers of W3C Trace Context. The gateway does not interpret
 * a trace: it keeps well-formed headers, ignores others, and passes the kept ones on unchanged.
 */

/** A trace, and the span that is the parent of later spans. */
export type TraceContext = {
  /** In lower-case hexadecimal: `00-`, 32 digits of the trace, `-`, 16 of the span, `-`, 2 of the flags. */
  readonly traceparent: string;
  /** A text that tracing systems add for themselves, such as `vendor=1`; at most 512 characters. */
  readonly tracestate?: string;
};

const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-((?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2})(-.*)?$/;
const VERSION = '00';
const TRACESTATE_CHARS_MAX = 512;
const TRACESTATE_MEMBERS_MAX = 32;
/** `key=value` or `tenant@system=value`. A value has no comma, no equals sign and no space at its end. */
const MEMBER =
  /^([a-z][a-z0-9_\-*/]{0,255}|[a-z0-9][a-z0-9_\-*/]{0,240}@[a-z][a-z0-9_\-*/]{0,13})=[ -+\--<>-~]{0,255}[!-+\--<>-~]$/;

/**
 * Returns the trace that the headers name; undefined without a well-formed `traceparent`, whatever
 * `tracestate` says. If `traceparent` has a later version, its first four parts are kept under version `00`.
 */
export function parseTraceContext(
  traceparent: string | undefined,
  tracestate: string | undefined,
): TraceContext | undefined {
  if (traceparent === undefined) return undefined;
  const [, version, parts, more] = TRACEPARENT.exec(traceparent.trim()) ?? [];
  if (version === undefined || parts === undefined) return undefined;
  if (version === VERSION && more !== undefined) return undefined;
  const state = tracestate === undefined ? '' : limitTracestate(tracestate);
  return { traceparent: `${VERSION}-${parts}`, ...(state !== '' && { tracestate: state }) };
}

/**
 * Returns the text, or an empty text if a part is malformed. A text that is too long keeps as many whole
 * parts as fit.
 */
function limitTracestate(tracestate: string): string {
  const members = tracestate.split(',').map((one) => one.trim());
  const present = members.filter((one) => one !== '');
  const keys = present.map((one) => MEMBER.exec(one)?.[1]);
  const isWellFormed = keys.every((key) => key !== undefined) && new Set(keys).size === keys.length;
  if (!isWellFormed || present.length === 0 || present.length > TRACESTATE_MEMBERS_MAX) return '';
  if (tracestate.length <= TRACESTATE_CHARS_MAX) return tracestate.trim();
  let kept = '';
  for (const member of present) {
    const longer = kept === '' ? member : `${kept},${member}`;
    if (longer.length > TRACESTATE_CHARS_MAX) break;
    kept = longer;
  }
  return kept;
}
