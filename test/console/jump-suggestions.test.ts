/** What the field at the top suggests while one types: names that are known, and what the gateway finds. */
import { describe, expect, test } from 'vitest';
import type { Read } from '../../server/console/gateway/polling.ts';
import {
  chooseNames,
  createSuggester,
  findNamed,
  type Suggestion,
  type SuggestionReads,
} from '../../server/console/shell/jump-suggestions.ts';

const signal = new AbortController().signal;

/** A gateway that knows these tasks and agents, and what it was asked. */
function createReads(): { readonly client: SuggestionReads; readonly asked: object[] } {
  const asked: object[] = [];
  const reply = (query: object, value: object): Read<never> => {
    asked.push(query);
    return async () => ({ value: value as never, etag: null });
  };
  const client: SuggestionReads = {
    readTasks: (query) =>
      reply(query, { tasks: [{ request_id: 'x-c2d4e', task_type: 't', status: 'failed' }] }),
    readAgents: (query) => reply(query, { agents: [{ agent_id: 'gpu-7', state: 'offline' }] }),
  };
  return { client, asked };
}

describe('names that are known', () => {
  test('are suggested by any part of them, those that begin with it first, three of a kind', () => {
    expect(chooseNames('GPU', ['my-gpu', 'gpu-2', 'cpu', 'gpu-1', 'gpu-3'])).toEqual([
      'gpu-1',
      'gpu-2',
      'gpu-3',
    ]);
    expect(chooseNames('b', ['ab', 'ba', 'ba'])).toEqual(['ba', 'ab']);
  });
});

describe('what the gateway finds', () => {
  test('are tasks by the end of their ids, with type and status, and agents by any part of theirs', async () => {
    const { client, asked } = createReads();
    const found = await findNamed('…C2D4E', client, signal);
    expect(found.map(({ kind, text, more }) => [kind, text, more])).toEqual([
      ['task', 'x-c2d4e', 't, failed'],
      ['agent', 'gpu-7', 'offline'],
    ]);
    expect(asked).toEqual([
      { id: 'c2d4e', limit: 3 },
      { id: 'C2D4E', limit: 3 },
    ]);
  });

  test('are agents alone where the text ends no id, and nothing is asked for no text', async () => {
    const { client, asked } = createReads();
    expect((await findNamed('gpu', client, signal)).map(({ kind }) => kind)).toEqual(['agent']);
    expect(await findNamed(' ', client, signal)).toEqual([]);
    expect(asked).toHaveLength(1);
  });
});

describe('while one types', () => {
  test('known names are shown at once, and with what the gateway knows when the typing has paused', async () => {
    const { client, asked } = createReads();
    const { list } = createSuggester(client);
    const shown: (readonly Suggestion[])[] = [];
    const show = (found: readonly Suggestion[]) => void shown.push(found);
    await list('t', ['gpu', 'zh-t'], signal, show);
    expect(shown.map((found) => found.map(({ kind, text, href }) => [kind, text, href]))).toEqual([
      [['tag', 'zh-t', '/console/tasks?tag=zh-t']],
      [
        ['agent', 'gpu-7', '/console/agents/gpu-7'],
        ['type', 't', '/console/tasks?type=t'],
        ['tag', 'zh-t', '/console/tasks?tag=zh-t'],
      ],
    ]);
    await list('t', [], signal, show);
    expect(asked).toEqual([{ limit: 100 }, { id: 't', limit: 3 }, { id: 't', limit: 3 }]);
  });

  test('nothing is asked for no text, nor for one that was typed over', async () => {
    const { client, asked } = createReads();
    const { list } = createSuggester(client);
    const shown: (readonly Suggestion[])[] = [];
    const over = new AbortController();
    const typedOver = list('gp', ['gpu'], over.signal, (found) => shown.push(found));
    over.abort();
    await typedOver;
    await list(' ', ['gpu'], signal, (found) => shown.push(found));
    expect(shown.map((found) => found.length)).toEqual([1, 0]);
    expect(asked).toEqual([]);
  });
});
