/** A real gateway with a proxy before it, a client, and agents of one tag each, for the stories of a task. */
import { afterAll, beforeAll } from 'vitest';
import { type Agent, type AgentOptions, createAgent, type Handler } from '../../sdk/agent/index.ts';
import { createClient, type OutputPiece, type TaskGatewayClient } from '../../sdk/index.ts';
import { type GatewayProcess, SECRET, startGateway } from '../harness/gateway-process.ts';
import { startTcpProxy, type TcpProxy } from '../harness/tcp-proxy.ts';

export let proxy: TcpProxy;
/** Calls the gateway itself. */
export let client: TaskGatewayClient;
let gateway: GatewayProcess;
const agents: Agent[] = [];

beforeAll(async () => {
  gateway = await startGateway();
  proxy = await startTcpProxy(Number(new URL(gateway.baseUrl).port));
  client = createClient({ baseUrl: gateway.baseUrl, auth: SECRET });
});
afterAll(async () => {
  await Promise.all(agents.map((one) => one.stop({ drainMs: 0, graceMs: 0 })));
  await proxy?.close();
  await gateway?.stop();
});

/** How a client or an agent calls through the proxy. */
export function throughProxy(): { readonly baseUrl: string; readonly auth: string } {
  return { baseUrl: `http://127.0.0.1:${proxy.port}`, auth: SECRET };
}

/** Starts an agent with one tag, its own name. */
export async function startAgent(
  tag: string,
  handler: Handler,
  more: Partial<AgentOptions> = {},
): Promise<Agent> {
  const own = { agentId: tag, tags: [tag], logLevel: 'off', handler } as const;
  const agent = createAgent({ baseUrl: gateway.baseUrl, auth: SECRET, ...own, ...more });
  agents.push(agent);
  await agent.start();
  return agent;
}

/** A submission for the agent with this tag. */
export function taskOf(tag: string) {
  return { task_type: 't', task_tags: [tag], payload: {}, queue_timeout: 30 };
}

/** The pieces of an output, until its reader ends. */
export async function readAll(request_id: string, options = {}): Promise<readonly OutputPiece[]> {
  const pieces: OutputPiece[] = [];
  for await (const piece of client.readOutput(request_id, options)) pieces.push(piece);
  return pieces;
}
