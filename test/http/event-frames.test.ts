/** Frames that readers of lines in any language split alike. */
import { expect, test } from 'vitest';
import { renderItem, renderOutput } from '../../server/http/stream/event-frames.ts';

const TEXT = 'one\u2028two\u2029three\u0085four\nfive';

test.each([
  [
    'an event',
    renderItem({
      gap: false,
      cursor: '1-1',
      event: {
        event: 'task_done',
        request_id: 't',
        status: 'success',
        result: { output: TEXT },
        error_info: null,
      },
    }),
  ],
  ['a piece', renderOutput({ pieces: [{ n: 1, json: JSON.stringify({ text: TEXT }) }] })],
])('%s is one line, whatever counts as the end of one', (_, frame) => {
  const [id, data = '', ...rest] = frame.toString().split(/[\n\u0085\u2028\u2029]/);
  expect(id).toMatch(/^id: /);
  expect(rest).toEqual(['', '']);
  const { result, text } = JSON.parse(data.slice('data: '.length));
  expect(text ?? result.output).toBe(TEXT);
});
