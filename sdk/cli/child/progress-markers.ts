/**
 * The progress of a program: markers, lines like `::progress 40::`, which are separated from its other
 * output, and what a pattern finds in that.
 */

export type ProgressMarkerFilter = {
  /** Takes the next part of the output. */
  write(text: string): void;
  /** Ends the output; an incomplete last line counts as a line. */
  end(): void;
};

export type ProgressMarkerOptions = {
  /** Called with the percentage of each marker. */
  readonly onProgress: (percent: number) => void;
  /** Called with all other text, unchanged. Text waits at most until its line is complete. */
  readonly onText: (text: string) => void;
};

/** A longer line is not a marker, so it need not be kept until it is complete. */
const MARKER_CHARS_MAX = 64;
const MARKER = /^::progress (\d{1,3}(?:\.\d+)?) ?%?::\s*$/;

/** Creates a filter for one output stream. */
export function createProgressMarkerFilter({
  onProgress,
  onText,
}: ProgressMarkerOptions): ProgressMarkerFilter {
  let incomplete = '';
  /** The start of the current line was already passed to `onText`, so the line can't be a marker. */
  let isLineStarted = false;

  function finishLine(line: string): void {
    const percent = isLineStarted ? undefined : MARKER.exec(line)?.[1];
    if (percent === undefined) onText(line);
    else onProgress(Number(percent));
    isLineStarted = false;
  }

  return {
    write(text) {
      const lines = (incomplete + text).split('\n');
      incomplete = lines.pop() ?? '';
      for (const line of lines) finishLine(`${line}\n`);
      if (incomplete === '' || (!isLineStarted && incomplete.length <= MARKER_CHARS_MAX)) return;
      onText(incomplete);
      incomplete = '';
      isLineStarted = true;
    },
    end() {
      if (incomplete !== '') finishLine(incomplete);
      incomplete = '';
    },
  };
}

/** So much of a line is searched. */
const LINE_CHARS_MAX = 4_096;

/**
 * Creates a reader that calls back with the last percentage that a pattern finds in a line, as its first
 * group or, without one, as a whole. A carriage return begins a line, so a bar of progress is read each time
 * it is drawn, before its line ends.
 */
export function createProgressReader(
  pattern: RegExp,
  onProgress: (percent: number) => void,
): (text: string) => void {
  const all = new RegExp(pattern, 'g');
  let line = '';
  let last: number | undefined;
  return (text) => {
    const lines = (line + text).split(/[\r\n]/);
    line = lines.at(-1)?.slice(-LINE_CHARS_MAX) ?? '';
    const found = lines.flatMap((one) => [...one.slice(-LINE_CHARS_MAX).matchAll(all)].slice(-1)).at(-1);
    const percent = found && Number.parseFloat(found[1] ?? found[0]);
    if (percent === undefined || !(percent >= 0 && percent <= 100) || percent === last) return;
    last = percent;
    onProgress(percent);
  };
}
