/** A real browser, and pages of an origin of their own that try to use the gateway behind its user's back. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Browser, chromium, type Page } from 'playwright-core';
import { findRemedy, findTool } from '../harness/tools.ts';

export type ForeignPage = {
  readonly origin: string;
  readonly page: Page;
  stop(): Promise<void>;
};

/** Opens a page of another origin: the loopback on a port that is not the gateway's. */
export async function openForeignPage(browser: Browser): Promise<ForeignPage> {
  const server = createServer((_request, response) => {
    response
      .writeHead(200, { 'content-type': 'text/html' })
      .end('<!doctype html><title>foreign page</title>');
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const page = await browser.newPage();
  await page.goto(origin);
  return {
    origin,
    page,
    async stop() {
      await page.close();
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

/** Starts the browser of this machine, with more arguments. Throws where there is none. */
export function launchBrowser(more: readonly string[] = []): Promise<Browser> {
  const executablePath = findTool('chromium');
  if (executablePath === null) throw new Error(`There is no browser: ${findRemedy('chromium')}`);
  return chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', ...more],
  });
}
