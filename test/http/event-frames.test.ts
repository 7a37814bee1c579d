/** Frames that readers of lines in any language split alike. */
import { expect, test } from 'vitest';
import { renderItem, renderOutput } from '../../server/http/stream/event-frames.ts';
import { createSimulator } from '../../server/simulator/index.ts';
import { readPublished } from '../contract/document-figures.ts';

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

test('The longest line is a result and a reply of line ends, and is as long as the guide says.', async () => {
  const [, mebibytes = ''] =
    /one `data:` line of less than (\d+) MiB/.exec(JSON.stringify(readPublished())) ?? [];
  const { options } = createSimulator();
  const { auth, baseUrl } = options;
  const post = async (path: string, fields: object) => {
    const body = JSON.stringify({ auth, agent_id: 'A', ...fields });
    const response = await options.fetch(new Request(`${baseUrl}/api${path}`, { method: 'POST', body }));
    expect([response.status, path]).toEqual([200, path]);
    return (await response.json()) as { request_id: string };
  };
  await post('/agent/register', { endpoint: 'pull', agent_tags: ['a'] });
  const task = { task_type: 't', task_tags: ['a'], payload: {}, cli_session_id: 's' };
  const { request_id } = await post('/cli/tasks', task);
  await post('/agent/claim', {});
  // Two bytes each, and six as an escape.
  const text = '\u0085'.repeat(524_000);
  await post('/agent/result', { request_id, status: 'running', result: { reply: text } });
  await post('/agent/result', { request_id, status: 'success', result: { output: text } });
  const stream = await options.fetch(new Request(`${baseUrl}/api/cli/events?cli_session_id=s&auth=${auth}`));
  let read = '';
  for await (const part of stream.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    read += part;
    if (/^data: .*\n/m.test(read)) break;
  }
  const [line = ''] = /^data: .*$/m.exec(read) ?? [];
  const lengthMib = line.length / 2 ** 20;
  expect(lengthMib).toBeGreaterThan(Number(mebibytes) - 1.01);
  expect(lengthMib).toBeLessThan(Number(mebibytes));
  expect(JSON.parse(line.slice('data: '.length)).result).toEqual({ reply: text, output: text });
});
