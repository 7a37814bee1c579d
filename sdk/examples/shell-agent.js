/**
 * An agent that runs a command. The command gets the task's payload on standard input as JSON; its standard
 * output becomes the output, and if it fails, its standard error the reason. The agent kills it when the task
 * is cancelled or times out.
 *
 *     TASK_GATEWAY_URL=http://127.0.0.1:8080 TASK_GATEWAY_AUTH=… node shell-agent.js wc wc -c
 */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { runAgent } from '@task-gateway/sdk/agent';

const [tag, command, ...args] = process.argv.slice(2);
if (!tag || !command) {
  console.error('usage: node shell-agent.js TAG COMMAND [ARGUMENT …]');
  process.exit(2);
}

await runAgent({
  agentId: `example-shell-${tag}`,
  tags: [tag],
  async handler({ payload }, { signal }) {
    // No shell stands in between: the payload is data, never a part of the command.
    const child = spawn(command, args, { signal });
    const exited = new Promise((resolve, reject) => {
      child.once('close', resolve);
      child.once('error', () => reject(signal.reason ?? new Error(`${command} can't be started`)));
    });
    // A command may exit without reading its input.
    child.stdin.on('error', () => undefined);
    child.stdin.end(JSON.stringify(payload));
    const [code, output, error] = await Promise.all([exited, text(child.stdout), text(child.stderr)]);
    if (code !== 0) throw new Error(error.trim() || `${command} ended with ${code}`);
    return output.trimEnd();
  },
  onNotice: (notice) => console.log(notice.kind),
});
