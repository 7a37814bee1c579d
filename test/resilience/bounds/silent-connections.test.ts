/** Party A keeps connections open or opens them again and again; party B is served as before. */
import { afterAll, beforeAll, test } from 'vitest';
import { type GatewayProcess, startGateway } from '../../harness/gateway-process.ts';
import { openConnection } from '../../http/raw-connection.ts';
import { expectUnaffected, measureBeside, SCALE } from './beside.ts';

const SILENT = Math.min(10_000, Math.round(1_000 * SCALE));

let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway?.stop());

test(`beside ${SILENT} connections that send nothing, calls are as fast as alone`, async () => {
  const port = Number(new URL(gateway.baseUrl).port);
  expectUnaffected(
    await measureBeside({
      name: 'silent-connections',
      baseUrl: gateway.baseUrl,
      async takeAll() {
        const wires = await Promise.all(Array.from({ length: SILENT }, () => openConnection(port)));
        return async () => {
          for (const wire of wires) wire.close();
        };
      },
    }),
  );
});
