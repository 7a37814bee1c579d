/** The console in a real browser: pages that are signed in, and what they ask for and complain of. */
import axe from 'axe-core';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { ADMIN_SECRET, SECRET } from '../harness/gateway-process.ts';
import { launchBrowser } from '../resilience/browser-page.ts';

/** What a page did since it was opened. */
type Seen = {
  /** The addresses of all its requests. */
  readonly requests: string[];
  /** Errors and warnings of the browser, and errors of scripts. */
  readonly complaints: string[];
};

export type ConsolePage = { readonly page: Page; readonly seen: Seen; readonly context: BrowserContext };

export type OpenOptions = {
  /** Below `/console/`. */
  readonly path?: string;
  readonly width?: number;
  readonly height?: number;
  readonly isDark?: boolean;
  /** The secrets in the tab's storage; `null` for a page that is not signed in. */
  readonly secrets?: { readonly admin: string; readonly gateway?: string } | null;
};

export { launchBrowser };

/** Opens a page of the console in a context of its own, which the caller closes. */
export async function openConsole(
  browser: Browser,
  baseUrl: string,
  options: OpenOptions = {},
): Promise<ConsolePage> {
  const context = await browser.newContext({
    viewport: { width: options.width ?? 1_280, height: options.height ?? 800 },
    colorScheme: options.isDark ? 'dark' : 'light',
    reducedMotion: 'reduce',
    locale: 'en-GB',
    timezoneId: 'Asia/Shanghai',
  });
  context.setDefaultTimeout(10_000);
  const secrets = options.secrets === undefined ? { admin: ADMIN_SECRET, gateway: SECRET } : options.secrets;
  if (secrets) {
    await context.addInitScript(({ admin, gateway }) => {
      sessionStorage.setItem('task-gateway.admin-secret', admin);
      if (gateway) sessionStorage.setItem('task-gateway.gateway-secret', gateway);
    }, secrets);
  }
  const page = await context.newPage();
  const seen: Seen = { requests: [], complaints: [] };
  page.on('request', (one) => seen.requests.push(one.url()));
  page.on('console', (one) => {
    if (['error', 'warning'].includes(one.type())) seen.complaints.push(one.text());
  });
  page.on('pageerror', (error) => seen.complaints.push(error.message));
  await page.goto(`${baseUrl}/console/${options.path ?? ''}`);
  return { page, seen, context };
}

type AxeResult = {
  readonly violations: readonly {
    readonly id: string;
    readonly help: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
  }[];
};

/** What axe finds wrong with the page as it is now, by some of its rules or all: a text for each. */
export async function findViolations(page: Page, rules?: readonly string[]): Promise<readonly string[]> {
  // As an expression of the debugger, which the policy of the page does not concern.
  await page.evaluate(axe.source);
  const options = JSON.stringify({ resultTypes: ['violations'], ...(rules && { runOnly: rules }) });
  const result = (await page.evaluate(`axe.run(${options})`)) as AxeResult;
  return result.violations.map(
    ({ id, help, nodes }) =>
      `${id}: ${help}: ${nodes
        .slice(0, 3)
        .map(({ html, failureSummary }) => `${html.slice(0, 160)} (${failureSummary ?? ''})`)
        .join(' | ')}`,
  );
}
