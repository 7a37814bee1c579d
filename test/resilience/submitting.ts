/** Many submissions over few connections. */
import { Agent, request } from 'undici';
import { SECRET } from '../harness/gateway-process.ts';

export type Caller = {
  /** Submits this many tasks of a session, some at a time; resolves with their ids. */
  submitMany(count: number, more: Readonly<Record<string, unknown>>): Promise<readonly string[]>;
  /** One call; resolves with its JSON, rejects when the status is not 2xx. */
  call(method: 'GET' | 'POST', path: string, body?: object): Promise<Record<string, unknown>>;
  close(): Promise<void>;
};

const AT_ONCE = 32;

/** Creates a caller with connections of its own. */
export function createCaller(baseUrl: string): Caller {
  const dispatcher = new Agent({ connections: AT_ONCE, pipelining: 1 });

  async function call(method: 'GET' | 'POST', path: string, body?: object): Promise<Record<string, unknown>> {
    const response = await request(baseUrl + path, {
      dispatcher,
      method,
      ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    });
    const text = await response.body.text();
    if (response.statusCode >= 300)
      throw new Error(`${method} ${path} returned ${response.statusCode}: ${text}`);
    return JSON.parse(text) as Record<string, unknown>;
  }

  return {
    call,
    async submitMany(count, more) {
      const ids: string[] = [];
      const body = {
        auth: SECRET,
        task_type: 't',
        task_tags: ['nobody'],
        payload: { text: '你好' },
        ...more,
      };
      let left = count;
      const lane = async (): Promise<void> => {
        while (left > 0) {
          left -= 1;
          ids.push(String((await call('POST', '/api/cli/tasks', body)).request_id));
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, lane));
      return ids;
    },
    close: () => dispatcher.close(),
  };
}
