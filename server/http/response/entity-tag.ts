/**
 * Responses that a caller reads again and again: each has an `ETag` over its content without `time`, and one
 * that has not changed since is 304 without a body. The tag is weak, because `time` differs.
 */
import { createHash } from 'node:crypto';

/** The reply to a read that may be conditional. */
export type TaggedReply =
  | { readonly status: 304; readonly headers: Readonly<Record<string, string>> }
  | {
      readonly status: 200;
      readonly rendered: Buffer;
      readonly headers: Readonly<Record<string, string>>;
    };

/** Renders a body, or replies that the caller has it already. `time` comes first in what is rendered. */
export function replyTagged(
  { time, ...content }: { readonly time: number; readonly [field: string]: unknown },
  ifNoneMatch: string | undefined,
): TaggedReply {
  const text = JSON.stringify(content);
  const tag = `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`;
  const headers = { ETag: `W/${tag}`, 'Cache-Control': 'no-cache' };
  if (matchesTag(ifNoneMatch, tag)) return { status: 304, headers };
  return { status: 200, rendered: Buffer.from(`{"time":${time},${text.slice(1)}`), headers };
}

/**
 * Whether `If-None-Match` names a tag, given in its quotes. The comparison is weak (RFC 9110): `*` or a list
 * of tags, with or without `W/`.
 */
export function matchesTag(ifNoneMatch: string | undefined, tag: string): boolean {
  return ifNoneMatch?.trim() === '*' || (ifNoneMatch?.match(/"[^"]*"/g)?.includes(tag) ?? false);
}
