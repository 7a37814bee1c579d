/** The kit's page is true: the tests run its commands, and its tables are those of the program. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { findFreePort } from '../harness/free-port.ts';
import { readBlocks } from '../harness/readme-blocks.ts';
import { withSimulator } from './fault-search.ts';
import { CONTROL_SECRETS } from './planted-faults.ts';
import { REQUIREMENTS } from './requirements.ts';
import { CHECKS, type Outcome, type Run, type RunOptions, runChecks } from './run-checks.ts';
import { SLOW_CHECKS } from './slow-checks.ts';
import type { Send } from './subject.ts';
import { exitCodeOf, parseBaseline, summarize } from './verdicts.ts';
import { printReport, writeJunitReport } from './written-reports.ts';

const PAGE = readFileSync(join(import.meta.dirname, 'README.md'), 'utf8');
const PROGRAM = join(import.meta.dirname, 'bin/task-gateway-conformance.js');
const SERVER = join(import.meta.dirname, '../../server/bin/task-gateway-server.js');
const blocks = readBlocks(PAGE);
const isOfOthers = ({ text }: { readonly text: string }): boolean => /--(agent|client) /.test(text);
/** The commands of the gateway's role; `agent-kit.test.ts` and `client-kit.test.ts` run the others. */
const shell = blocks.filter((block) => block.language === 'sh' && !isOfOthers(block)).map(({ text }) => text);
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'task-gateway-kit-'));
  // It stands for npx, which would ask a registry for the packages of this repository.
  const npx = join(folder, 'npx');
  writeFileSync(
    npx,
    `#!/bin/sh\npackage="$1"; shift\n[ "$package" = @task-gateway/server ] && exec ${process.execPath} ${SERVER}\nexec ${process.execPath} ${PROGRAM} "$@"\n`,
  );
  chmodSync(npx, 0o755);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Ran = { readonly code: number; readonly stdout: string; readonly stderr: string };

async function run(script: string): Promise<Ran> {
  const env = { PATH: `${folder}:${process.env.PATH}`, LANG: 'C.UTF-8' };
  return promisify(execFile)('bash', ['--norc', '-c', script], { env, cwd: folder }).then(
    (ran) => ({ code: 0, ...ran }),
    (error) => error as Ran,
  );
}

describe('the commands of the page', () => {
  test('print what it says, and write the reports', async () => {
    const port = await findFreePort();
    // The server needs a moment to listen; a reader takes as long to type the next command.
    const started = shell
      .join('\n')
      .replace(' &\n', ' >&2 &\nuntil curl -s http://127.0.0.1:8080 >/dev/null; do sleep 0.1; done\n');
    const { code, stdout } = await run(
      `export PORT=${port}\n${started.replaceAll('8080', String(port))}\nkill -TERM $!; wait $!`,
    );
    const promised = blocks.find(({ language }) => language === 'text')?.text;
    expect({ code, printed: stdout.split('\n\n').at(-1) }).toEqual({ code: 0, printed: promised });
    const report = JSON.parse(readFileSync(join(folder, 'report.json'), 'utf8'));
    expect(report).toMatchObject({ counts: { fail: 0, error: 0 } });
    expect(report.kit.sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(Object.keys(report)).toEqual(expect.arrayContaining(['subject', 'seed', 'prefix', 'started_at']));
    expect(report.verdicts.every(({ text, where }: { text: string; where: unknown }) => text && where)).toBe(
      true,
    );
    expect(readFileSync(join(folder, 'report.xml'), 'utf8')).toMatch(/<testsuite .* failures="0" errors="0"/);
  });

  test('say in one line what was used wrongly', async () => {
    const wrong = [
      ['', /--gateway URL is missing/],
      ['--gateway here', /--gateway must be a URL/],
      ['--gateway http://127.0.0.1:1 --seed x', /--seed must be a whole number/],
      ['--gateway http://127.0.0.1:1 --only nothing.', /no requirement begins so/],
      ['--gateway http://127.0.0.1:1 --baseline none.json', /--baseline none\.json: ENOENT/],
      ['--gateway http://127.0.0.1:1 --baseline none.json --first', /exclude each other/],
      ['--agent true --payload 1', /--payload must be a JSON object/],
      ['--client true --only error.', /no requirement begins so/],
      ['--nonsense', /Unknown option '--nonsense'/],
    ] as const;
    for (const [words, sentence] of wrong) {
      const { code, stderr } = await run(`npx @task-gateway/conformance ${words}`);
      expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(sentence) });
    }
  });

  test('list every requirement, and whether a check looks at it', async () => {
    const { stdout } = await run('npx @task-gateway/conformance --list');
    for (const { id } of REQUIREMENTS) expect(stdout).toContain(`${id} (`);
    for (const { text } of REQUIREMENTS) expect(stdout).toContain(text);
    expect(stdout.match(/; checked\)/g)?.length).toBeGreaterThan(50);
  });

  test('check as many requirements as the page counts', () => {
    const rows = [...PAGE.matchAll(/^\| `(L\d)` \| (\d+) \| (\d+) \| (\d+) \|$/gm)];
    const counted = rows.map(([, level, ...counts]) => [level, ...counts.map(Number)]);
    const expected = ['L0', 'L1'].map((level) => {
      const all = REQUIREMENTS.filter((one) => one.role === 'gateway' && one.level === level);
      const count = (isOne: (id: string) => boolean) =>
        all.filter(({ id, checked_by = id }) => isOne(checked_by)).length;
      const [quick, slow] = [count((id) => id in CHECKS), count((id) => id in SLOW_CHECKS)];
      return [level, quick, slow, all.length - quick - slow];
    });
    expect(counted).toEqual(expected);
  });

  test('end with a report when a signal comes', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void silent.close());
    await once(silent, 'listening');
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const kit = spawn(process.execPath, [PROGRAM, '--gateway', url, '--json', 'ended.json'], { cwd: folder });
    const [socket] = (await once(silent, 'connection')) as [Socket];
    kit.kill('SIGTERM');
    const [code] = await once(kit, 'exit');
    socket.destroy();
    expect(code).toBe(2);
    const { counts } = JSON.parse(readFileSync(join(folder, 'ended.json'), 'utf8'));
    expect(counts).toMatchObject({ pass: 0, fail: 0, warn: 0 });
    expect(counts.error).toBeGreaterThan(50);
  });
});

describe.concurrent('a report of failures', () => {
  type Plant = (send: Send) => Send;

  /** Returns the verdicts on a gateway with a fault, and the report as it is printed. */
  async function report(plant: Plant, options: Partial<RunOptions> = {}) {
    const { gateway: auth, admin: adminAuth } = CONTROL_SECRETS;
    const run = await withSimulator(({ gatewayUrl, send, clock }) =>
      runChecks({ gatewayUrl, send: plant(send), clock, auth, adminAuth, seed: 7, level: 'L0', ...options }),
    );
    const summary = summarize(run.verdicts);
    const head = {
      kitVersion: '1',
      kitHash: '',
      seed: 7,
      role: 'gateway',
      subject: 'it',
      startedAt: '',
    } as const;
    const text = printReport(run, summary, head, {}, false);
    const whole = printReport(run, summary, head, {}, true);
    return { summary, text, whole, junit: writeJunitReport(run, summary, {}) };
  }
  const refusing: Plant = (send) => (url, init) => {
    const isReport = url.endsWith('/api/agent/result');
    const body = { status: 401, code: 'unauthorized' };
    return isReport ? Promise.resolve(Response.json(body, { status: 401 })) : send(url, init);
  };

  test('names the refusal that all of them come from, and what was sent', async ({ expect: wants }) => {
    const { text } = await report(refusing);
    const [, count] = /^(\d+) checks: POST \/api\/agent\/result got 401 unauthorized$/m.exec(text) ?? [];
    wants(Number(count)).toBeGreaterThan(10);
    wants(text.match(/: the same$/gm)?.length).toBeGreaterThan(10);
    wants(text).toMatch(
      /^ {4}POST \/api\/agent\/result: 401 unauthorized(, \d times)?\n( {4}.*\n)* {4}GET \/api\/cli\/tasks\/\S+: 200, \d+ times\n/m,
    );
  });

  test('ends with the first one with --first', async ({ expect: wants }) => {
    const { text, summary } = await report(refusing, { first: true });
    wants(summary.counts.fail).toBe(1);
    wants(summary.counts.not_run).toBeGreaterThan(40);
    wants(text).toMatch(/It stopped at the first that failed, \S+\. The rest was not run\.\n\nMUST/);
  });

  test('names a gateway that died, and what was sent to it', async ({ expect: wants }) => {
    let isDead = false;
    const dying: Plant = (send) => (url, init) => {
      isDead ||= url.includes('/cancel');
      return isDead ? Promise.reject(new Error('refused')) : send(url, init);
    };
    const { text, summary, junit } = await report(dying);
    wants(text).toMatch(
      /^No response since check \d+ of \d+, \S+ \(sent .*POST \S+\/cancel.*\)\. The rest was not run\.$/m,
    );
    wants([summary.counts.fail, exitCodeOf(summary)]).toEqual([1, 1]);
    wants(junit).toContain(`skipped="${summary.counts.not_run + summary.counts.not_scored}"`);
  });

  test('says what failed once and passed alone', async ({ expect: wants }) => {
    let count = 0;
    const late: Plant = (send) => async (url, init) => {
      const isLost = url.endsWith('/heartbeat') && ++count === 1;
      return isLost ? Response.json({}, { status: 500 }) : send(url, init);
    };
    const { text, summary, whole } = await report(late);
    wants(whole).toMatch(/^not scored {2}auth\.default\n.*\n {2}Its value is not shown/m);
    wants(text).toMatch(
      /^pass {2}heartbeat\.path\n.*\n {2}Failed once, passed alone: POST .*heartbeat: 500/m,
    );
    wants([summary.counts.fail, exitCodeOf(summary)]).toEqual([0, 0]);
  });
});

describe('a baseline', () => {
  const requirementOf = (id: string) => {
    const found = REQUIREMENTS.find((one) => one.id === id);
    if (!found) throw new Error(`No requirement ${id}.`);
    return found;
  };
  const runOf = (outcomes: Readonly<Record<string, Outcome>>): Run => ({
    verdicts: Object.entries(outcomes).map(([id, outcome]) => ({
      requirement: requirementOf(id),
      outcome,
      detail: outcome === 'pass' ? '' : '<seen> "this"',
    })),
    prefix: 'kit-1',
    subjectVersion: null,
    seconds: 1,
  });
  const seen = runOf({
    'match.by-tags': 'fail',
    'event.equal': 'pass',
    'error.other': 'warn',
    'auth.default': 'not_scored',
  });

  test('of the page is one', () => {
    const [page = ''] = blocks.filter(({ role }) => role === 'baseline').map(({ text }) => text);
    const baseline = parseBaseline(page);
    expect(summarize(seen.verdicts, baseline).stale).toEqual([]);
    for (const id of Object.keys(baseline)) requirementOf(id);
  });

  test.each([
    ['nothing', {}, { code: 1, stale: [] }],
    ['what fails', { 'match.by-tags': 'known' }, { code: 0, stale: [] }],
    [
      'what passes again',
      { 'match.by-tags': 'known', 'event.equal': 'old' },
      { code: 1, stale: ['event.equal'] },
    ],
    ['what is unknown', { 'match.by-tags': 'known', 'no.such': 'x' }, { code: 1, stale: ['no.such'] }],
  ])('that expects %s', (_what, baseline, { code, stale }) => {
    const summary = summarize(seen.verdicts, baseline);
    expect({ code: exitCodeOf(summary), stale: summary.stale }).toEqual({ code, stale });
    expect([summary.passed, summary.applicable]).toEqual([1, 2]);
  });

  test.each(['[]', '"text"', '{"a":1}', '{"a":" "}'])('is refused: %s', (text) => {
    expect(() => parseBaseline(text)).toThrow();
  });

  test('an error of the kit is an exit code of its own', () => {
    const broken = runOf({ 'match.by-tags': 'error', 'event.equal': 'fail' });
    const summary = summarize(broken.verdicts);
    expect([exitCodeOf(summary), summary.passed, summary.applicable]).toEqual([2, 0, 1]);
  });

  test('is in JUnit: failures, expected ones as skipped, stale ones, and text that is XML again', () => {
    const baseline = { 'event.equal': 'old' };
    const text = writeJunitReport(seen, summarize(seen.verdicts, baseline), baseline);
    expect(text).toContain('tests="5" failures="2" errors="0" skipped="1"');
    expect(text).toContain('<failure message="&lt;seen&gt; &quot;this&quot;"/>');
    expect(text).toContain('<testcase classname="baseline" name="event.equal"><failure message="stale"/>');
    const expected = { 'match.by-tags': 'known' };
    const skipped = writeJunitReport(seen, summarize(seen.verdicts, expected), expected);
    expect(skipped).toContain('failures="0" errors="0" skipped="2"');
  });
});
