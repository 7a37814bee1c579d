/** A gateway with one agent, for the suites of the command line, and commands as processes of their own. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { type Agent, createAgent } from '../../sdk/agent/index.ts';
import { createClient, type TaskGatewayClient } from '../../sdk/client.ts';
import { ADMIN_SECRET, type GatewayProcess, SECRET, startGateway } from '../fakes/gateway-process.ts';
import { type CommandOptions, type Ended, envFor, runCommand } from './command.ts';

export type Stand = {
  readonly client: TaskGatewayClient;
  readonly folder: string;
  readonly env: Record<string, string>;
  /** Runs a command to its end. */
  run(words: readonly string[], options?: CommandOptions): Promise<Ended>;
  /** Hands in a task nobody finishes. */
  hang(): Promise<string>;
};

/** Starts the gateway and the agent before the file's tests and ends them after; what it gives is there in tests only. */
export function useStand(): Stand {
  let gateway: GatewayProcess;
  let agent: Agent;
  let client: TaskGatewayClient;
  let folder: string;
  let env: Record<string, string>;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'task-gateway-cli-'));
    gateway = await startGateway();
    env = envFor(gateway);
    const reach = { baseUrl: gateway.baseUrl, auth: SECRET };
    client = createClient({ ...reach, adminAuth: ADMIN_SECRET });
    agent = createAgent({
      ...{ ...reach, agentId: '执行者', tags: ['echo'], maxConcurrent: 50 },
      handler: ({ payload, task_type }, { signal }) => {
        if (task_type === 'fail') throw new Error('the disk is full');
        if (task_type === 'hang') {
          return new Promise((_resolve, reject) =>
            signal.addEventListener('abort', () => reject(signal.reason)),
          );
        }
        if (task_type === 'parts') return { reply: 'first', output: 'last', parts: [1] };
        return { output: JSON.stringify(payload) };
      },
    });
    await agent.start();
  });

  afterAll(async () => {
    await agent?.stop({ drainMs: 0 });
    await gateway?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  return {
    get client() {
      return client;
    },
    get folder() {
      return folder;
    },
    get env() {
      return env;
    },
    run: (words, options = {}) => runCommand(words, { ...options, env: { ...env, ...options.env } }),
    async hang() {
      const { request_id } = await client.submitTask({ task_type: 'hang', task_tags: ['echo'], payload: {} });
      return request_id;
    },
  };
}
