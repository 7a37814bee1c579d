/** What the field at the top suggests while one types: names that are known, and what the gateway finds. */
import { describe, expect, test } from 'vitest';
import type { Read } from '../../server/console/gateway/polling.ts';
import {
  chooseNames,
  findNamed,
  readTypes,
  type SuggestionReads,
  suggestNames,
} from '../../server/console/shell/jump-suggestions.ts';

const KNOWN = { tags: ['gpu', 'gpu-large', 'zh-en'], types: ['transcode', 'translate'] };
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

  test('lead to the list of the tasks that have them', () => {
    expect(suggestNames(' tran', KNOWN).map(({ kind, text, href }) => [kind, text, href])).toEqual([
      ['type', 'transcode', '/console/tasks?type=transcode'],
      ['type', 'translate', '/console/tasks?type=translate'],
    ]);
    expect(suggestNames('gpu', KNOWN).map(({ kind, text }) => `${kind} ${text}`)).toEqual([
      'tag gpu',
      'tag gpu-large',
    ]);
    expect(suggestNames('  ', KNOWN)).toEqual([]);
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

  test('are the types of the newest tasks, each once', async () => {
    const { client } = createReads();
    expect(await readTypes(client, signal)).toEqual(['t']);
  });
});
