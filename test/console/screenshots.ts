/**
 * Takes pictures of every screen of the console, light and dark, at 1280 and 360 pixels, over the real
 * gateway: `npm run screenshots -- --out FOLDER`. With `--beside FOLDER` a page `index.html` shows each
 * beside the picture of the same name there, so that a person can compare them.
 */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { startGateway } from '../harness/gateway-process.ts';
import { startRedis } from '../harness/redis-process.ts';
import { readScriptOptions, refuseOptions } from '../harness/script-options.ts';
import { findRemedy } from '../harness/tools.ts';
import { launchBrowser, type OpenOptions, openConsole } from './console-page.ts';
import { SCENE_SESSION, type Scene, startScene } from './console-scene.ts';

type Shot = {
  readonly name: string;
  readonly path?: string;
  readonly secrets?: OpenOptions['secrets'];
  /** What is there when the picture can be taken. */
  readonly shows: string;
  readonly act?: (page: Page) => Promise<void>;
};

type Look = { readonly width: number; readonly isDark: boolean };

const LOOKS: readonly Look[] = [
  { width: 1_280, isDark: false },
  { width: 1_280, isDark: true },
  { width: 360, isDark: false },
];

type Take = (baseUrl: string, shot: Shot, looks?: readonly Look[]) => Promise<void>;

function listShots({ tasks, failingAgent }: Scene): readonly Shot[] {
  return [
    { name: 'overview', shows: 'Demand and supply by tag' },
    { name: 'jump', shows: 'Demand and supply by tag', act: typeName },
    { name: 'tasks', path: 'tasks', shows: 'product-shots-v13' },
    { name: 'tasks-confirm', path: 'tasks?waiting=true', shows: 'product-shots-v13', act: confirmCancel },
    { name: 'task-no-agent', path: `tasks/${tasks.unassigned}`, shows: 'Why it did not run' },
    { name: 'task-succeeded', path: `tasks/${tasks.succeeded}`, shows: 'Timeline' },
    { name: 'task-running', path: `tasks/${tasks.running}`, shows: 'Timeline' },
    { name: 'agents', path: 'agents', shows: 'connection refused' },
    { name: 'agent', path: `agents/${failingAgent}`, shows: 'Contact and pushes' },
    { name: 'agent-busy', path: `agents/${encodeURIComponent('translator-上海-01')}`, shows: 'Ended here' },
    { name: 'submit', path: 'submit', shows: 'The same as' },
    { name: 'events', path: `events?session=${encodeURIComponent(SCENE_SESSION)}`, shows: 'Events' },
    { name: 'sign-in', secrets: null, shows: 'Admin secret' },
    { name: 'sign-in-refused', secrets: null, shows: 'Admin secret', act: refuse },
  ];
}

async function typeName(page: Page): Promise<void> {
  await page.getByRole('combobox').fill('gpu');
  await page.getByRole('option').nth(2).waitFor();
  await page.keyboard.press('ArrowDown');
}

async function confirmCancel(page: Page): Promise<void> {
  await page.getByRole('checkbox').first().check();
  await page
    .getByRole('button', { name: /^Cancel \d/ })
    .first()
    .click();
  await page.locator('dialog[open]').waitFor();
}

async function refuse(page: Page): Promise<void> {
  await page.getByLabel('Admin secret').fill('not the secret of it');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('The gateway refused this secret.').waitFor();
}

function createTake(browser: Browser, folder: string): Take {
  return async (baseUrl, { name, path = '', secrets, shows, act }, looks = LOOKS) => {
    for (const { width, isDark } of looks) {
      const options = { path, width, isDark, ...(secrets !== undefined && { secrets }) };
      const { page, context } = await openConsole(browser, baseUrl, options);
      await page.getByText(shows).first().waitFor();
      await act?.(page);
      // The second read has the numbers of all parts at one time.
      await page.waitForTimeout(2_500);
      const file = join(folder, `${name}-${width}-${isDark ? 'dark' : 'light'}.png`);
      await page.screenshot({ path: file, fullPage: width === 360 });
      await context.close();
      console.log(file);
    }
  };
}

/** The states of a gateway that has nothing yet, is gone, or whose store is. */
async function takeStates(take: Take): Promise<void> {
  const empty = await startGateway();
  await take(empty.baseUrl, { name: 'empty', shows: 'Nothing has happened here yet' });
  await empty.stop();
  const looks = LOOKS.slice(0, 2);
  for (const look of looks) {
    const scene = await startScene();
    const shows = 'Demand and supply by tag';
    const act = async (page: Page): Promise<void> => {
      await scene.gateway.kill();
      await page.getByText('The gateway has not answered').waitFor({ timeout: 60_000 });
    };
    await take(scene.gateway.baseUrl, { name: 'broken-unreachable', shows, act }, [look]);
    await scene.stop();
  }
  const remedy = findRemedy('redis');
  if (remedy !== null) {
    console.error(`!!! No picture of a store that is down, for there is no Redis: ${remedy}.`);
    return;
  }
  const redis = await startRedis();
  const scene = await startScene({ STORE: redis.url });
  const act = async (page: Page): Promise<void> => {
    await redis.kill();
    await page.getByText('The store has not answered').waitFor({ timeout: 60_000 });
  };
  await take(
    scene.gateway.baseUrl,
    { name: 'broken-store', shows: 'Demand and supply by tag', act },
    looks.slice(0, 1),
  );
  await scene.stop();
  await redis.dispose();
}

/** A page with each picture beside that of the same name in another folder. */
function writeComparison(folder: string, beside: string): void {
  const theirs = new Set(readdirSync(beside));
  const rows = readdirSync(folder)
    .filter((name) => name.endsWith('.png'))
    .map((name) => {
      const other = theirs.has(name)
        ? `<img src="${pathToFileURL(join(beside, name)).href}" alt="">`
        : 'none';
      return `<h2>${name}</h2><div><img src="${name}" alt="">${other}</div>`;
    });
  const style = '<style>div{display:flex;gap:8px}img{width:49vw;align-self:start}</style>';
  writeFileSync(
    join(folder, 'index.html'),
    `<!doctype html><meta charset="utf-8">${style}${rows.join('\n')}\n`,
  );
}

async function takeScreenshots(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const browser = await launchBrowser();
  const take = createTake(browser, folder);
  const scene = await startScene();
  try {
    for (const shot of listShots(scene)) await take(scene.gateway.baseUrl, shot);
    await takeStates(take);
  } finally {
    await scene.stop();
    await browser.close();
  }
}

const SCRIPT = 'npm run screenshots';
const OPTIONS = {
  out: { type: 'string', value: 'FOLDER' },
  beside: { type: 'string', value: 'FOLDER' },
} as const;

if (import.meta.main) {
  const { out, beside } = readScriptOptions(SCRIPT, OPTIONS);
  if (out === undefined)
    refuseOptions(SCRIPT, 'It needs --out FOLDER.', `It takes: ${SCRIPT} -- --out FOLDER [--beside FOLDER]`);
  const folder = resolve(out);
  await takeScreenshots(folder);
  if (beside !== undefined) writeComparison(folder, resolve(beside));
}
