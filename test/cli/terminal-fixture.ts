/** A gateway, and a real terminal whose shell finds the command: for tests that type into it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { type Agent, type AgentOptions, createAgent } from '../../sdk/agent/index.ts';
import { createClient, type TaskGatewayClient } from '../../sdk/client.ts';
import { ADMIN_SECRET, type GatewayProcess, SECRET, startGateway } from '../harness/gateway-process.ts';
import { envFor, writeLauncher } from './cli-process.ts';
import { openTerminal, type TmuxTerminal } from './tmux-terminal.ts';

export let gateway: GatewayProcess;
export let client: TaskGatewayClient;
let folder: string;
let terminal: TmuxTerminal | undefined;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'task-gateway-terminal-'));
  writeLauncher(folder);
  gateway = await startGateway();
  client = createClient({ baseUrl: gateway.baseUrl, auth: SECRET, adminAuth: ADMIN_SECRET });
});

afterEach(() => {
  terminal?.close();
  terminal = undefined;
});

afterAll(async () => {
  await gateway?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs an agent of this gateway while the tests of the file run. */
export function useAgent(options: AgentOptions): void {
  let agent: Agent;
  beforeAll(async () => {
    agent = createAgent({ baseUrl: gateway.baseUrl, auth: SECRET, maxConcurrent: 10, ...options });
    await agent.start();
  });
  afterAll(async () => void (await agent?.stop({ drainMs: 0, graceMs: 0 })));
}

/** Opens a terminal, which the end of the test closes, and types a line. */
export async function typeLine(
  line: string,
  env: Readonly<Record<string, string>> = {},
  columns = 100,
): Promise<TmuxTerminal> {
  const path = `${folder}:${process.env.PATH}`;
  terminal = openTerminal({ PATH: path, HOME: folder, ...envFor(gateway), ...env }, columns);
  await terminal.waitForText(/^ready>/m);
  terminal.press(line);
  terminal.press('Enter');
  return terminal;
}
