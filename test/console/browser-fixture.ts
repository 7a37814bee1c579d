/** A browser and a gateway, for tests of pages of the console that make what these show. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';
import { createClient, type TaskGatewayClient } from '../../sdk/index.ts';
import { ADMIN_SECRET, type GatewayProcess, SECRET, startGateway } from '../harness/gateway-process.ts';
import { launchBrowser } from './console-page.ts';

export let browser: Browser;
export let gateway: GatewayProcess;
export let client: TaskGatewayClient;

/** Runs both while the tests of the file run. */
export function useBrowser(): void {
  beforeAll(async () => {
    [browser, gateway] = await Promise.all([launchBrowser(), startGateway()]);
    client = createClient({ baseUrl: gateway.baseUrl, auth: SECRET, adminAuth: ADMIN_SECRET });
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await gateway?.stop();
  });
}
