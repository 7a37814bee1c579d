/** Every npm script refuses an option that it does not know, with a sentence that names it. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  scripts: Readonly<Record<string, string>>;
};
const UNKNOWN = '--unknown-option';
/** npm runs this one, without options. */
const OF_NPM = ['prepare'];
const names = Object.keys(scripts).filter((name) => !OF_NPM.includes(name));

/** Runs a script as npm does, with words behind it: they go to the last command of a chain. */
async function runScript(name: string, words: string, env: Readonly<Record<string, string>> = {}) {
  const last = (scripts[name] ?? '').split(' && ').at(-1) ?? '';
  const path = [join(ROOT, 'node_modules/.bin'), process.env.PATH ?? ''].join(delimiter);
  const options = { cwd: ROOT, env: { ...process.env, PATH: path, ...env } };
  const ran = promisify(execFile)('sh', ['-c', `${last} ${words}`], options);
  const { code = 0, stdout, stderr } = await ran.catch((error) => error);
  return { code: code as number, printed: `${stdout}${stderr}` };
}

describe.concurrent('an option that it does not know is refused by', () => {
  test.each(names)('npm run %s', async (name) => {
    const { code, printed } = await runScript(name, UNKNOWN);
    expect(code).not.toBe(0);
    expect(printed).toMatch(/unknown-?option/i);
    expect(printed, 'a stack is no sentence').not.toMatch(/^\s+at .*\.[jt]s:\d+/m);
  });
});

describe.concurrent('a script says what it takes', () => {
  test.each([
    [
      'demo',
      UNKNOWN,
      "npm run demo: Unknown option '--unknown-option'. It takes: npm run demo -- [--console] [--port NUMBER]\n",
    ],
    ['house', 'one two', "npm run house: Unknown option 'two'. It takes: npm run house [FOLDER]\n"],
    [
      'generate',
      '--chekc',
      "npm run generate: Unknown option '--chekc'. It takes: npm run generate -- [--check]\n",
    ],
    [
      'test:full',
      '--minutes ten',
      'npm run test:full: --minutes is "ten" and must be a number. It takes: npm run test:full -- [--minutes NUMBER]\n',
    ],
    [
      'mock',
      '--port',
      /^npm run mock: Option '--port <value>' argument missing\. It takes: npm run mock -- \[--port NUMBER\]/,
    ],
  ])('npm run %s %s', async (name, words, sentence) => {
    const { code, printed } = await runScript(name, words);
    expect(code).toBe(1);
    if (typeof sentence === 'string') expect(printed).toBe(sentence);
    else expect(printed).toMatch(sentence);
  });

  test('where npm has kept an option for itself', async () => {
    const { code, printed } = await runScript('mock', '4011', { npm_config_port: 'true' });
    expect(code).toBe(1);
    expect(printed).toMatch(
      /^npm run mock: Write "--" before --port, or npm keeps it for itself\. It takes: /,
    );
  });
});
