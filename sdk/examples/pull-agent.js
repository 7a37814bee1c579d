/**
 * An agent that needs no port: it claims its tasks. On SIGTERM it finishes the tasks it has, and exits.
 *
 *     TASK_GATEWAY_URL=http://127.0.0.1:8080 TASK_GATEWAY_AUTH=… node pull-agent.js
 */
import { setTimeout as pause } from 'node:timers/promises';
import { runAgent } from '@task-gateway/sdk/agent';

await runAgent({
  agentId: 'example-pull',
  tags: ['shout'],
  maxConcurrent: 4,
  endpoint: 'pull',
  // At its next start the agent reports the results that it could not report before it ended.
  outbox: process.env.OUTBOX,
  async handler({ payload }, { signal, progress, reply }) {
    reply('On it.');
    const letters = [];
    for (const letter of String(payload.text)) {
      letters.push(letter.toUpperCase());
      progress((100 * letters.length) / payload.text.length);
      await pause(20, undefined, { signal });
    }
    return { output: `${letters.join('')}!`, letters: letters.length };
  },
  onNotice: (notice) => console.log(notice.kind),
});
