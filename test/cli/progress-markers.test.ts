/** The progress in what a program writes: markers, and what a pattern finds. */
import { describe, expect, test } from 'vitest';
import { createProgressMarkerFilter, createProgressReader } from '../../sdk/cli/child/progress-markers.ts';

describe('progress markers are separated from the output', () => {
  /** Returns the text and the progress that a filter reports if it receives the output in these pieces. */
  function filterOutput(...pieces: readonly string[]) {
    const reported: { text: string; progress: number[] } = { text: '', progress: [] };
    const { write, end } = createProgressMarkerFilter({
      onProgress: (percent) => reported.progress.push(percent),
      onText: (text) => {
        reported.text += text;
      },
    });
    for (const piece of pieces) write(piece);
    end();
    return reported;
  }

  test.each([
    [['::progress 40::\n'], '', [40]],
    [['::pro', 'gress 4', '0::', '\n', 'x'], 'x', [40]],
    [['a\n::progress 1::\r\nb\n::progress 100%::\n'], 'a\nb\n', [1, 100]],
    [['say ::progress 40::\n'], 'say ::progress 40::\n', []],
    [['::progress::\n::progress x::\n'], '::progress::\n::progress x::\n', []],
    [
      [`${'x'.repeat(100)}`, '::progress 40::\n', '::progress 41::\n'],
      `${'x'.repeat(100)}::progress 40::\n`,
      [41],
    ],
    [['no break at the end'], 'no break at the end', []],
    [['', '\n\n'], '\n\n', []],
  ])('%j', (pieces, text, progress) => {
    expect(filterOutput(...pieces)).toEqual({ text, progress });
  });
});

describe('a pattern finds progress', () => {
  function readProgress(pattern: RegExp, ...texts: readonly string[]): readonly number[] {
    const found: number[] = [];
    const read = createProgressReader(pattern, (percent) => found.push(percent));
    for (const text of texts) read(text);
    return found;
  }

  test.each([
    [
      'each time a bar is drawn, before its line ends',
      ['\r 10%', '\r 20%', '\r 20%', '\r 100%'],
      [10, 20, 100],
    ],
    ['across a cut', ['\r 4', '5', '%'], [45]],
    ['last in a line, and last of the lines of a text', ['1% or 2%\n3% or 4%\n'], [4]],
    ['not above 100, and not where there is no number', ['200%\n', '%\n'], []],
  ])('%s', (_, texts, progress) => {
    expect(readProgress(/(\d*)%/, ...texts)).toEqual(progress);
  });

  test('as a whole where it has no group', () => {
    expect(readProgress(/\d+\.\d/, 'done 12.5 of it\n')).toEqual([12.5]);
  });
});
