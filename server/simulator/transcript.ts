/**
 * Everything that went over the wire of a world, as lines of JSON: requests and responses, the pieces of
 * streams, pushes and the responses to them. The world's secrets are replaced by `***`. The same seed and the
 * same calls give the same bytes.
 */

/** One line. A response has the `call` or `push` of its request. */
type Entry = { readonly kind: string; readonly [field: string]: unknown };

export type Transcript = {
  note(entry: Entry): void;
  /** The lines, each with its line end. */
  text(): string;
};

/** Beyond this length the oldest lines are dropped, and the first line says how many. */
const CHARS_MAX = 8 * 1024 * 1024;

/** Headers that differ between programs, or describe the connection. */
const LEFT_OUT =
  /^(accept|accept-.*|connection|content-length|host|keep-alive|priority|sec-.*|te|transfer-encoding|user-agent)$/;

/** Creates an empty transcript. `nowSeconds` is the world's time. */
export function createTranscript(nowSeconds: () => number, secrets: readonly string[]): Transcript {
  const lines: string[] = [];
  let chars = 0;
  let dropped = 0;
  const hidden = secrets
    .filter((secret) => secret !== '')
    .map((secret) => JSON.stringify(secret).slice(1, -1));
  // A URL contains a secret in escaped form.
  hidden.push(...secrets.map(encodeURIComponent));

  return {
    note(entry) {
      let line = JSON.stringify({ time: nowSeconds(), ...entry });
      for (const secret of hidden) line = line.replaceAll(secret, '***');
      lines.push(line);
      chars += line.length;
      while (chars > CHARS_MAX && lines.length > 1) {
        chars -= lines.shift()?.length ?? 0;
        dropped += 1;
      }
    },
    text() {
      const first = dropped > 0 ? [JSON.stringify({ kind: 'dropped', lines: dropped })] : [];
      return [...first, ...lines].map((line) => `${line}\n`).join('');
    },
  };
}

/** The headers of a transcript, sorted. */
export function describeHeaders(headers: Iterable<readonly [string, string]>): Record<string, string> {
  const kept = [...headers].map(([name, value]) => [name.toLowerCase(), value] as const);
  return Object.fromEntries(kept.filter(([name]) => !LEFT_OUT.test(name)).sort(compareNames));
}

function compareNames([a]: readonly [string, string], [b]: readonly [string, string]): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
