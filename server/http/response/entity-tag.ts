/**
 * Responses that a caller reads again and again. Each has an `ETag` over its content without `time`. The tag
 * is weak, because bodies with one tag differ in `time`.
 */
import { createHash } from 'node:crypto';

type TaggedReply = {
  readonly status: 200;
  readonly rendered: Buffer;
  readonly headers: Readonly<Record<string, string>>;
};

/** Renders a body, with `time` first, and its tag. */
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

/** Builds the tag of a content, with its quotes. */
export function buildTag(content: string | Buffer): string {
  return `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`;
}

/**
 * Whether `If-None-Match` names a tag. The comparison is weak (RFC 9110): the header is `*`, or a list of
 * tags with or without `W/`.
 */
export function matchesTag(ifNoneMatch: string, tag: string): boolean {
  return (
    ifNoneMatch.trim() === '*' || (ifNoneMatch.match(/"[^"]*"/g)?.includes(tag.replace(/^W\//, '')) ?? false)
  );
}
