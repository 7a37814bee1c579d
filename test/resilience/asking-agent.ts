/** An agent as a separate process: it asks one question about each task, and its result is the answer. */
import { runAgent } from '../../sdk/agent/index.ts';

await runAgent({
  agentId: process.env.AGENT_ID,
  tags: ['ask'],
  maxConcurrent: 20,
  logLevel: 'off',
  async handler({ payload }, { write, ask }) {
    await write(`任务 ${payload.n}`);
    const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] } as const;
    return JSON.stringify(await ask('部署吗？', { key: 'deploy', schema }));
  },
});
