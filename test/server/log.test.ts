/** The log: lines a machine can read, lines a person can read, no secret in either, and no line that a stranger wrote. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { createLog, type LogSettings } from '../../server/system/log.ts';

const CANARY = 'canary+7d"1f\\ü'.replace('ü', '~');

/** A log that keeps what it wrote. */
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

/** Everything a secret may hide in. */
function writeSecretEverywhere(log: ReturnType<typeof createLog>): void {
  const cause = new Error(`inner ${CANARY}`);
  const error = new Error(`GET /x?auth=${encodeURIComponent(CANARY)} failed`, { cause });
  Object.assign(error, {
    url: `http://a/?auth=${CANARY}`,
    headers: { 'x-admin-auth': CANARY },
    tried: [cause],
  });
  const facts = {
    err: error,
    error,
    [CANARY]: 1,
    body: JSON.stringify({ auth: CANARY }),
    nested: [{ deep: [CANARY] }],
  };
  for (const level of ['debug', 'info', 'warn', 'error'] as const) {
    log[level](facts, `told ${CANARY}`);
    log[level]({ err: new AggregateError([error, cause], CANARY) }, CANARY);
  }
}

describe('secrets', () => {
  for (const pretty of [false, true]) {
    test(`none is in any line, ${pretty ? 'for people' : 'as JSON'}`, () => {
      const { log, lines, text } = openLog({ pretty });
      writeSecretEverywhere(log);
      expect(lines).toHaveLength(8);
      const shown = decodeURIComponent(text().replace(/%(?![0-9a-f]{2})/gi, '%25'));
      for (const form of [CANARY, JSON.stringify(CANARY).slice(1, -1), 'canary', '7d']) {
        expect(shown).not.toContain(form);
      }
      expect(text().split('[secret]').length).toBeGreaterThan(30);
    });
  }

  test('a line that held one is still JSON', () => {
    const { log, lines } = openLog({ secrets: [CANARY, '1234', 'msg'] });
    writeSecretEverywhere(log);
    log.info({ n: 1234, s: '1234', more: 12345 }, 'msg');
    for (const line of lines) expect(typeof JSON.parse(line)).toBe('object');
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ n: '[secret]', s: '[secret]', more: 12345 });
  });
});

describe('lines', () => {
  test('as JSON they hold level, time, facts and message, and nothing of the machine', () => {
    const { log, lines } = openLog();
    log.warn({ request_id: 'r-1', count: 3 }, 'a push was not taken');
    expect(lines).toHaveLength(1);
    const { time, ...rest } = JSON.parse(lines[0] ?? '');
    expect(rest).toEqual({ level: 'warn', request_id: 'r-1', count: 3, msg: 'a push was not taken' });
    expect(new Date(time).toISOString()).toBe(time);
  });

  test('for people they show time, level, message and facts, and an error with its stack', () => {
    const { log, text } = openLog({ pretty: true });
    log.info({ agent_id: 'a' }, 'registered');
    log.error({ err: new Error('broken') }, 'failed');
    expect(text()).toMatch(/^\[\d\d:\d\d:\d\d\.\d{3}\] .*INFO.*: .*registered.*\{"agent_id":"a"\}\n/);
    expect(text()).toMatch(/ERROR.*: .*failed.*\n[\s\S]*"message": "broken"[\s\S]*\n +at /);
  });

  test('what is less important than the level is left out', () => {
    const { log, lines } = openLog({ level: 'warn' });
    for (const level of ['debug', 'info', 'warn', 'error'] as const) log[level]({}, level);
    expect(lines.map((line) => JSON.parse(line).level)).toEqual(['warn', 'error']);
    const silent = openLog({ level: 'silent' });
    silent.log.error({}, 'x');
    expect(silent.lines).toEqual([]);
  });

  test('percent signs in a message are only that', () => {
    const { log, lines } = openLog();
    log.info({}, '100% of %s, %d, %j and %o');
    expect(JSON.parse(lines[0] ?? '').msg).toBe('100% of %s, %d, %j and %o');
  });

  test('what cannot be serialized is logged without it', () => {
    const { log, lines } = openLog();
    const loop: Record<string, unknown> = {};
    loop.self = loop;
    const facts = {
      loop,
      big: 1n,
      broken: {
        toJSON: () => {
          throw new Error('no');
        },
      },
      fn: () => 1,
      none: undefined,
    };
    log.info(facts, 'odd');
    expect(JSON.parse(lines[0] ?? '').msg).toBe('odd');
  });
});

describe('forgery', () => {
  const EVIL =
    'x\n{"level":"error","msg":"forged"}\r\n\u001b[2J\u001b]0;title\u0007\u009b31m\u2028\u2029\u202e\u2066\u0000\u007f';

  test('a text from outside stays on its line, as JSON', () => {
    const { log, lines } = openLog();
    log.info({ [EVIL]: EVIL, err: new Error(EVIL) }, EVIL);
    expect(lines).toHaveLength(1);
    expect(lines[0]?.trimEnd()).toMatch(/^[^\p{Cc}\p{Cf}\u2028\u2029]+$/u);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ msg: EVIL, [EVIL]: EVIL });
  });

  test('a text from outside steers no terminal and begins no line', () => {
    const { log, text } = openLog({ pretty: true });
    log.info({ agent_id: EVIL, [EVIL]: 1 }, EVIL);
    log.info({ err: new Error(EVIL) }, 'failed');
    const colour = new RegExp(`${String.fromCharCode(27)}\\[\\d{1,2}m`, 'g');
    const plain = text().replaceAll(colour, '');
    expect(plain).not.toMatch(/[^\P{Cc}\n]|\p{Cf}|\u2028|\u2029/u);
    const begun = plain.split('\n').filter((line) => line !== '' && !line.startsWith(' '));
    expect(begun.map((line) => line.replace(/^\[[\d:.]+\] /, '').slice(0, 7))).toEqual([
      'INFO: x',
      'INFO: f',
    ]);
  });
});

test('lines go to the standard output, and none is lost at the end', async () => {
  const log = new URL('../../server/system/log.ts', import.meta.url).href;
  const script = `
    import { createLog } from ${JSON.stringify(log)};
    const log = createLog({ level: 'info', secrets: [${JSON.stringify(CANARY)}] });
    for (let n = 0; n < 2000; n += 1) log.info({ n }, ${JSON.stringify(`told ${CANARY}`)});
    log.flush();
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
