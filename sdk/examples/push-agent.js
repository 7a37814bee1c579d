/**
 * An agent that receives tasks as signed pushes. It shares a server with the rest of the process.
 *
 *     TASK_GATEWAY_URL=http://127.0.0.1:8080 TASK_GATEWAY_AUTH=… TASK_GATEWAY_PUSH_SECRET=whsec_… \
 *       PORT=9000 node push-agent.js
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createAgent } from '@task-gateway/sdk/agent';

const server = createServer((request, response) => {
  if (request.url === '/tasks') agent.listener(request, response);
  else response.end('This server runs an agent.\n');
});
server.listen(Number(process.env.PORT ?? 9000), '127.0.0.1');
await once(server, 'listening');

const agent = createAgent({
  agentId: 'example-push',
  tags: ['count'],
  maxConcurrent: 4,
  endpoint: `http://127.0.0.1:${server.address().port}/tasks`,
  handler: ({ payload }) => `${[...String(payload.text)].length} characters`,
  onNotice: (notice) => console.log(notice.kind),
});
await agent.start();

process.once('SIGTERM', async () => {
  await agent.stop();
  server.close();
});
