/** Several real gateways on one real Redis, each a process of its own. */
import { type GatewayProcess, startGateway } from '../harness/gateway-process.ts';

export type Replicas = {
  /** By index; after a restart the process that was started last. */
  at(index: number): GatewayProcess;
  /** The addresses by index; each stays the same over restarts. */
  readonly urls: readonly string[];
  /** SIGKILL; nothing is started instead. */
  kill(index: number): Promise<void>;
  /** Starts another on the same port. */
  restart(index: number): Promise<void>;
  stop(): Promise<void>;
};

/** Starts them one after the other. */
export async function startReplicas(
  storeUrl: string,
  count: number,
  env: Readonly<Record<string, string>> = {},
): Promise<Replicas> {
  const settings = { ...env, STORE: storeUrl };
  const running: GatewayProcess[] = [];
  for (let index = 0; index < count; index += 1) running.push(await startGateway(settings));
  const urls = running.map(({ baseUrl }) => baseUrl);
  const at = (index: number): GatewayProcess => {
    const gateway = running[index];
    if (!gateway) throw new Error(`there is no replica ${index}`);
    return gateway;
  };
  return {
    at,
    urls,
    kill: (index) => at(index).kill(),
    async restart(index) {
      running[index] = await startGateway({ ...settings, PORT: new URL(at(index).baseUrl).port });
    },
    stop: async () => void (await Promise.all(running.map((gateway) => gateway.stop()))),
  };
}
