/** A real browser, and pages of an origin of their own that try to use the gateway behind its user's back. */
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Browser, chromium, type Page } from 'playwright-core';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** Where a browser is installed; undefined where none is. */
export function findBrowser(): string | undefined {
  return PLACES.find((file) => existsSync(file));
}

export type Stranger = {
  readonly origin: string;
  readonly page: Page;
  stop(): Promise<void>;
};

/** Opens a page of another origin: the loopback on a port that is not the gateway's. */
export async function openStranger(browser: Browser): Promise<Stranger> {
  const server = createServer((_request, answer) => {
    answer.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>stranger</title>');
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

export function launch(executablePath: string): Promise<Browser> {
  return chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  });
}
