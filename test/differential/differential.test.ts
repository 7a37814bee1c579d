/**
 * A second gateway, written from the published documents alone, behaves as ours does: what the documents do
 * not say, it cannot do. It serves no explanations, and none of the pages beside the API.
 */
import { expect, test } from 'vitest';
import { startGateway } from '../harness/gateway-process.ts';
import { createPeer, SECRETS } from './peer.ts';
import { SCENARIOS } from './scenarios.ts';
import { startSecondGateway } from './second-gateway/serve.ts';
import { sendWrongRequests } from './wrong-requests.ts';

/** Everything that is observed of a gateway: the scenarios beside each other, each with its own lines. */
async function observe(baseUrl: string): Promise<readonly string[]> {
  const parts = await Promise.all(
    [sendWrongRequests, ...SCENARIOS].map(async (scenario, index) => {
      const peer = createPeer(baseUrl);
      try {
        await scenario(peer, `s${index}`);
      } finally {
        await peer.stop();
      }
      return peer.seen.map((line) => `${scenario.name} ${line}`);
    }),
  );
  return parts.flat();
}

test('the second gateway and ours are the same in everything that is observed', async () => {
  const ours = await startGateway({ GATEWAY_AUTH: SECRETS.gateway, ADMIN_AUTH: SECRETS.admin });
  const second = await startSecondGateway(SECRETS);
  try {
    const [expected, seen] = await Promise.all([observe(ours.baseUrl), observe(second.baseUrl)]);
    expect(expected.length).toBeGreaterThan(400);
    const differences = expected.flatMap((line, index) =>
      seen[index] === line ? [] : [`- ${line}\n+ ${seen[index]}`],
    );
    console.log(`figure: conformance-observations ${expected.length}, of which ${differences.length} differ`);
    expect(differences).toEqual([]);
    expect(seen.length).toBe(expected.length);
  } finally {
    await Promise.all([ours.stop(), second.stop()]);
  }
});
