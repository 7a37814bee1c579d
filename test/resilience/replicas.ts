/** Several real gateways on one real Redis, each a process of its own. */
import { type GatewayProcess, startGateway } from '../harness/gateway-process.ts';

export type Replicas = {
  /** By their place; one that was killed is the one that was started in its stead. */
  at(place: number): GatewayProcess;
  /** The addresses, each the same for the life of a place. */
  readonly urls: readonly string[];
  /** SIGKILL; nothing takes its place yet. */
  kill(place: number): Promise<void>;
  /** Starts another in the place, on the same port. */
  restart(place: number): Promise<void>;
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
  for (let place = 0; place < count; place += 1) running.push(await startGateway(settings));
  const urls = running.map(({ baseUrl }) => baseUrl);
  const at = (place: number): GatewayProcess => {
    const gateway = running[place];
    if (!gateway) throw new Error(`there is no replica ${place}`);
    return gateway;
  };
  return {
    at,
    urls,
    kill: (place) => at(place).kill(),
    async restart(place) {
      running[place] = await startGateway({ ...settings, PORT: new URL(at(place).baseUrl).port });
    },
    stop: async () => void (await Promise.all(running.map((gateway) => gateway.stop()))),
  };
}
