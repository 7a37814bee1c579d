/** Lines with which a program tells its progress: `::progress 40::`. They are news, not output. */

export type MarkerFilter = {
  /** Takes the next piece of what the program wrote. */
  write(text: string): void;
  /** Nothing more comes. */
  end(): void;
};

/** Whatever is longer than this is no marker. */
const MARKER_CHARS_MAX = 64;
const MARKER = /^::progress (\d{1,3}(?:\.\d+)?) ?%?::\s*$/;

/** Parts the marker lines from the rest, which is passed on unchanged, at the latest with the end of its line. */
export function createMarkerFilter(deps: {
  readonly onProgress: (percent: number) => void;
  readonly pass: (text: string) => void;
}): MarkerFilter {
  let held = '';
  /** The line was passed on in part: the rest follows it. */
  let inLine = false;

  function finishLine(line: string): void {
    const percent = inLine ? undefined : MARKER.exec(line)?.[1];
    if (percent === undefined) deps.pass(line);
    else deps.onProgress(Number(percent));
    inLine = false;
  }

  return {
    write(text) {
      const lines = (held + text).split('\n');
      held = lines.pop() ?? '';
      for (const line of lines) finishLine(`${line}\n`);
      if (held === '' || (!inLine && held.length <= MARKER_CHARS_MAX)) return;
      deps.pass(held);
      held = '';
      inLine = true;
    },
    end() {
      if (held !== '') finishLine(held);
      held = '';
    },
  };
}
