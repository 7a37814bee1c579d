/**
 * Responses that a caller reads again and again: each has an `ETag` over its content without `time`. The tag
 * is weak, because `time` differs.
 */
import { createHash } from 'node:crypto';

/** The reply to a read that may be conditional. */
type TaggedReply = {
  readonly status: 200;
  readonly rendered: Buffer;
  readonly headers: Readonly<Record<string, string>>;
};

/** Renders a body and its tag. `time` comes first in what is rendered. */
export function replyTagged({
  time,
  ...content
}: {
  readonly time: number;
  readonly [field: string]: unknown;
}): TaggedReply {
  const text = JSON.stringify(content);
  return {
    status: 200,
    rendered: Buffer.from(`{"time":${time},${text.slice(1)}`),
    headers: { ETag: `W/${buildTag(text)}`, 'Cache-Control': 'no-cache' },
  };
}

/** The tag of a content, in its quotes. */
export function buildTag(content: string | Buffer): string {
  return `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`;
}

/**
 * Whether `If-None-Match` names a tag. The comparison is weak (RFC 9110): `*` or a list of tags, with or
 * without `W/`.
 */
export function matchesTag(ifNoneMatch: string, tag: string): boolean {
  return (
    ifNoneMatch.trim() === '*' || (ifNoneMatch.match(/"[^"]*"/g)?.includes(tag.replace(/^W\//, '')) ?? false)
  );
}
