/** The log: lines of JSON, readable lines, no secret in either, and no forged lines. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { createLog, type LogSettings } from '../../server/system/log.ts';

const CANARY = 'canary+7d"1f\\ü'.replace('ü', '~');

/** Opens a log that keeps the lines it wrote. */
function openLog(settings: Partial<LogSettings> = {}) {
  const lines: string[] = [];
  const log = createLog({
    level: 'debug',
    secrets: [CANARY],
    pretty: false,
    write: (line) => void lines.push(line),
    ...settings,
  });
  return { log, lines, text: () => lines.join('') };
}

/** Logs a secret in every part of a line that can contain one. */
function logSecretEverywhere(log: ReturnType<typeof createLog>): void {
  const cause = new Error(`inner ${CANARY}`);
  const error = new Error(`GET /x?auth=${encodeURIComponent(CANARY)} failed`, { cause });
  Object.assign(error, {
    url: `http://a/?auth=${CANARY}`,
    headers: { 'x-admin-auth': CANARY },
    tried: [cause],
  });
  const fields = {
    err: error,
    error,
    [CANARY]: 1,
    body: JSON.stringify({ auth: CANARY }),
    nested: [{ deep: [CANARY] }],
  };
  for (const level of ['debug', 'info', 'warn', 'error'] as const) {
    log[level](fields, `message ${CANARY}`);
    log[level]({ err: new AggregateError([error, cause], CANARY) }, CANARY);
  }
}

describe('secrets', () => {
  for (const pretty of [false, true]) {
    test(`no line contains one, ${pretty ? 'as readable text' : 'as JSON'}`, () => {
      const { log, lines, text } = openLog({ pretty });
      logSecretEverywhere(log);
      expect(lines).toHaveLength(8);
      const shown = decodeURIComponent(text().replace(/%(?![0-9a-f]{2})/gi, '%25'));
      for (const form of [CANARY, JSON.stringify(CANARY).slice(1, -1), 'canary', '7d']) {
        expect(shown).not.toContain(form);
      }
      expect(text().split('[secret]').length).toBeGreaterThan(30);
    });
  }

  test('a line that contained one is still JSON', () => {
    const { log, lines } = openLog({ secrets: [CANARY, '1234', 'msg'] });
    logSecretEverywhere(log);
    log.info({ n: 1234, s: '1234', more: 12345 }, 'msg');
    for (const line of lines) expect(typeof JSON.parse(line)).toBe('object');
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ n: '[secret]', s: '[secret]', more: 12345 });
  });
});

describe('lines', () => {
  test('as JSON they contain level, time, fields and message, and nothing of the machine', () => {
    const { log, lines } = openLog();
    log.warn({ request_id: 'r-1', count: 3 }, 'a push was not taken');
    expect(lines).toHaveLength(1);
    const { time, ...rest } = JSON.parse(lines[0] ?? '');
    expect(rest).toEqual({ level: 'warn', request_id: 'r-1', count: 3, msg: 'a push was not taken' });
    expect(new Date(time).toISOString()).toBe(time);
  });

  test('as readable text they contain time, level, message and fields, and an error with its stack', () => {
    const { log, text } = openLog({ pretty: true });
    log.info({ agent_id: 'a' }, 'registered');
    log.error({ err: new Error('broken') }, 'failed');
    expect(text()).toMatch(/^\[\d\d:\d\d:\d\d\.\d{3}\] .*INFO.*: .*registered.*\{"agent_id":"a"\}\n/);
    expect(text()).toMatch(/ERROR.*: .*failed.*\n[\s\S]*"message": "broken"[\s\S]*\n +at /);
  });

  test('lines below the level are left out', () => {
    const { log, lines } = openLog({ level: 'warn' });
    for (const level of ['debug', 'info', 'warn', 'error'] as const) log[level]({}, level);
    expect(lines.map((line) => JSON.parse(line).level)).toEqual(['warn', 'error']);
    const silent = openLog({ level: 'silent' });
    silent.log.error({}, 'x');
    expect(silent.lines).toEqual([]);
  });

  test('percent signs in a message are not interpreted', () => {
    const { log, lines } = openLog();
    log.info({}, '100% of %s, %d, %j and %o');
    expect(JSON.parse(lines[0] ?? '').msg).toBe('100% of %s, %d, %j and %o');
  });

  test('a line is logged without the values that cannot be serialised', () => {
    const { log, lines } = openLog();
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    const fields = {
      cycle,
      big: 1n,
      broken: {
        toJSON: () => {
          throw new Error('no');
        },
      },
      fn: () => 1,
      absent: undefined,
    };
    log.info(fields, 'odd');
    expect(JSON.parse(lines[0] ?? '').msg).toBe('odd');
  });
});

describe('forged lines', () => {
  const HOSTILE =
    'x\n{"level":"error","msg":"forged"}\r\n\u001b[2J\u001b]0;title\u0007\u009b31m\u2028\u2029\u202e\u2066\u0000\u007f';

  test('as JSON a text from outside stays within its line', () => {
    const { log, lines } = openLog();
    log.info({ [HOSTILE]: HOSTILE, err: new Error(HOSTILE) }, HOSTILE);
    expect(lines).toHaveLength(1);
    expect(lines[0]?.trimEnd()).toMatch(/^[^\p{Cc}\p{Cf}\u2028\u2029]+$/u);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ msg: HOSTILE, [HOSTILE]: HOSTILE });
  });

  test('as readable text a text from outside controls no terminal and starts no line', () => {
    const { log, text } = openLog({ pretty: true });
    log.info({ agent_id: HOSTILE, [HOSTILE]: 1 }, HOSTILE);
    log.info({ err: new Error(HOSTILE) }, 'failed');
    const colour = new RegExp(`${String.fromCharCode(27)}\\[\\d{1,2}m`, 'g');
    const plain = text().replaceAll(colour, '');
    expect(plain).not.toMatch(/[^\P{Cc}\n]|\p{Cf}|\u2028|\u2029/u);
    const unindented = plain.split('\n').filter((line) => line !== '' && !line.startsWith(' '));
    expect(unindented.map((line) => line.replace(/^\[[\d:.]+\] /, '').slice(0, 7))).toEqual([
      'INFO: x',
      'INFO: f',
    ]);
  });
});

test('a text as it is comes behind the lines before it and before those after it', async () => {
  const log = new URL('../../server/system/log.ts', import.meta.url).href;
  const script = `
    import { createLog } from ${JSON.stringify(log)};
    const log = createLog({ level: 'info', secrets: [${JSON.stringify(CANARY)}] });
    for (let n = 0; n < 1000; n += 1) log.info({ n }, 'before');
    log.writeText(${JSON.stringify(`as it is: ${CANARY}\n`)});
    log.info({}, 'after');
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
  const lines = stdout.trimEnd().split('\n');
  expect(lines.slice(0, 1_000).every((line, n) => JSON.parse(line).n === n)).toBe(true);
  expect(lines[1_000]).toBe(`as it is: ${CANARY}`);
  expect(lines.slice(1_001).map((line) => JSON.parse(line).msg)).toEqual(['after']);
});

test('lines go to the standard output, and none is lost when the process exits', async () => {
  const log = new URL('../../server/system/log.ts', import.meta.url).href;
  const script = `
    import { createLog } from ${JSON.stringify(log)};
    const log = createLog({ level: 'info', secrets: [${JSON.stringify(CANARY)}] });
    for (let n = 0; n < 2000; n += 1) log.info({ n }, ${JSON.stringify(`message ${CANARY}`)});
    await log.flush();
    process.exit(0);
  `;
  const run = promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    maxBuffer: 1e7,
  });
  const { stdout, stderr } = await run;
  expect(stderr).toBe('');
  const lines = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.map(({ n }) => n)).toEqual(Array.from({ length: 2000 }, (_, n) => n));
  expect(stdout).not.toContain('canary');
});

test('a terminal or pipe that was closed lets the process end, however late its write fails', async () => {
  const log = new URL('../../server/system/log.ts', import.meta.url).href;
  // The one thread that writes is busy: the write fails only after `flush` was called.
  const script = `
    import { pbkdf2 } from 'node:crypto';
    import { createLog } from ${JSON.stringify(log)};
    pbkdf2('', '', 1_000_000, 64, 'sha512', () => undefined);
    const log = createLog({ level: 'info', secrets: [] });
    for (const n of [1, 2]) log.info({ n }, 'nobody reads this');
    await log.flush();
    process.exit(7);
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    env: { ...process.env, UV_THREADPOOL_SIZE: '1' },
    timeout: 20_000,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
  child.stdout.destroy();
  expect(await closed).toEqual([7, null]);
});
