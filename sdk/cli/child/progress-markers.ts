/**
 * Finds the progress of a program: in markers, lines like `::progress 40::`, which it takes out of the
 * output; and by a pattern in the rest of the output.
 */

export type ProgressMarkerFilter = {
  /** Takes the next part of the output. */
  write(text: string): void;
  /** Ends the output. An incomplete last line counts as a line. */
  end(): void;
};

export type ProgressMarkerOptions = {
  /** Called with the percentage of each marker. */
  readonly onProgress: (percent: number) => void;
  /** Called with all other text, unchanged. A text waits until its line is complete, at most. */
  readonly onText: (text: string) => void;
};

/** How long a marker may be. A longer line is none, so it need not be kept until it is complete. */
const MARKER_CHARS_MAX = 64;
const MARKER = /^::progress (\d{1,3}(?:\.\d+)?) ?%?::\s*$/;

/** Creates a filter for one output stream. */
export function createProgressMarkerFilter({
  onProgress,
  onText,
}: ProgressMarkerOptions): ProgressMarkerFilter {
  let incomplete = '';
  /** Whether `onText` got the start of the current line already, so that the line can't be a marker. */
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

/** How much of a line is searched. */
const LINE_CHARS_MAX = 4_096;

/**
 * Creates a reader that calls back with the last percentage that a pattern finds in a line: its first group
 * or, without one, all of it. A carriage return begins a line, so that a progress bar is read whenever it is
 * drawn, before its line ends.
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
