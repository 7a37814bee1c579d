/** A gateway for the commands of a suite, a client of it, a folder, and how commands find all that. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { type Agent, type AgentOptions, createAgent } from '../../sdk/agent/index.ts';
import { createClient, type TaskGatewayClient } from '../../sdk/client.ts';
import { ADMIN_SECRET, type GatewayProcess, SECRET, startGateway } from '../harness/gateway-process.ts';
import { envFor } from './cli-process.ts';
import { type CommandExit, type CommandOptions, runCommand } from './command-run.ts';

export const PUSH_SECRET = 'whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=';
export const folder = mkdtempSync(join(tmpdir(), 'task-gateway-cli-'));
export let gateway: GatewayProcess;
export let client: TaskGatewayClient;
/** The environment with which a command finds the gateway and its secrets. */
export let env: Record<string, string>;

/** Runs the gateway, and keeps the folder, while the tests of the file run. */
export function useGateway(): void {
  beforeAll(async () => {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    gateway = await startGateway({ PUSH_SECRET });
    env = envFor(gateway);
    client = createClient({ baseUrl: gateway.baseUrl, auth: SECRET, adminAuth: ADMIN_SECRET });
  });
  afterAll(async () => {
    await gateway?.stop();
    rmSync(folder, { recursive: true, force: true });
  });
}

/** Runs an agent of this gateway while the tests of the file run. */
export function useAgent(options: AgentOptions): void {
  let agent: Agent;
  beforeAll(async () => {
    agent = createAgent({
      baseUrl: gateway.baseUrl,
      auth: SECRET,
      maxConcurrent: 50,
      logLevel: 'off',
      ...options,
    });
    await agent.start();
  });
  afterAll(async () => void (await agent?.stop({ drainMs: 0, graceMs: 0 })));
}

/** Runs a command of this gateway until it exits. */
export function run(line: string | readonly string[], options: CommandOptions = {}): Promise<CommandExit> {
  return runCommand(line, { ...options, env: { ...env, ...options.env } });
}
