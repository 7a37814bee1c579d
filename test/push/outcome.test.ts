/**
 * Outcomes of pushes: the contract's table for every possible status, Retry-After, and the texts of failures.
 */
import { errors } from 'undici';
import { describe, expect, test } from 'vitest';
import { classifyResponse, describeFailure, parseRetryAfterMs } from '../../server/push/response-outcome.ts';

const NOW_MS = Date.UTC(1994, 10, 6, 8, 49, 0);

describe('status lines', () => {
  test('every status from 200 to 999 is classified by the table', () => {
    const rows: string[] = [];
    for (let status = 200; status <= 999; status += 1) {
      const outcome = classifyResponse(status, undefined, NOW_MS);
      const flags =
        outcome.kind === 'untaken' ? `${outcome.busy ? ' busy' : ''}${outcome.leave ? ' leave' : ''}` : '';
      const row = `${outcome.kind}${flags}`;
      const last = rows.at(-1);
      if (last?.endsWith(` ${row}`)) rows[rows.length - 1] = last.replace(/-\d+/, `-${status}`);
      else rows.push(`${status}-${status} ${row}`);
      expect(outcome.status).toBe(status);
    }
    expect(rows).toEqual([
      '200-299 acknowledged',
      '300-407 untaken',
      '408-408 unknown',
      '409-409 acknowledged',
      '410-410 untaken leave',
      '411-428 untaken',
      '429-429 untaken busy',
      '430-499 untaken',
      '500-502 unknown',
      '503-503 untaken busy',
      '504-999 unknown',
    ]);
  });

  test('every outcome but a taken one carries the delay that the agent asked for', () => {
    for (let status = 200; status <= 999; status += 1) {
      for (const asked of ['7', 'Sun, 06 Nov 1994 08:49:07 GMT']) {
        const outcome = classifyResponse(status, asked, NOW_MS);
        if (outcome.kind !== 'acknowledged') expect(outcome.retryAfterMs, `${status}`).toBe(7_000);
      }
    }
    expect(classifyResponse(404, undefined, NOW_MS)).toMatchObject({ kind: 'untaken', retryAfterMs: null });
  });
});

describe('Retry-After', () => {
  test('whole seconds are read; how long is waited at most, the pause decides', () => {
    expect(parseRetryAfterMs('0', NOW_MS)).toBe(0);
    expect(parseRetryAfterMs(' 120 ', NOW_MS)).toBe(120_000);
    expect(parseRetryAfterMs('3600', NOW_MS)).toBe(3_600_000);
    expect(parseRetryAfterMs('999999999999', NOW_MS)).toBe(999_999_999_999_000);
    expect(parseRetryAfterMs(['5', '6'], NOW_MS)).toBe(5_000);
  });

  test('the three forms of an HTTP date mean the same instant', () => {
    for (const date of [
      'Sun, 06 Nov 1994 08:49:37 GMT',
      'Sunday, 06-Nov-94 08:49:37 GMT',
      'Sun Nov  6 08:49:37 1994',
    ]) {
      expect(parseRetryAfterMs(date, NOW_MS), date).toBe(37_000);
    }
    expect(parseRetryAfterMs('Sun, 06 Nov 1994 08:48:00 GMT', NOW_MS)).toBe(0);
    expect(parseRetryAfterMs('Sun, 06 Nov 1994 08:49:08 GMT', NOW_MS)).toBe(8_000);
  });

  test('any other value is ignored', () => {
    for (const value of [
      '',
      '-1',
      '1.5',
      '1e3',
      'soon',
      'Infinity',
      '0x10',
      '1 2',
      'Sun, nonsense here now',
      undefined,
      5,
      {},
    ]) {
      expect(parseRetryAfterMs(value, NOW_MS), String(value)).toBeNull();
    }
  });
});

describe('texts of failures', () => {
  const failure = (code: string) => Object.assign(new Error('secret text of the peer'), { code });

  test('before anything is written the text says what to repair', () => {
    expect(describeFailure(failure('ECONNREFUSED'), false)).toBe('connection refused');
    expect(describeFailure(failure('ENOTFOUND'), false)).toBe('DNS: no such host');
    expect(describeFailure(failure('CERT_HAS_EXPIRED'), false)).toBe('TLS: certificate has expired');
    expect(describeFailure(failure('ERR_TLS_SOMETHING_NEW'), false)).toBe('TLS: err_tls_something_new');
    expect(describeFailure(failure('ENEWERROR'), false)).toBe('no connection: enewerror');
  });

  test('after the request was written the text says that the agent may have the task', () => {
    expect(describeFailure(failure('ECONNRESET'), true)).toBe('the connection was cut before a response');
    expect(describeFailure(new errors.HTTPParserError('peer'), true)).toBe(
      'the response is not valid HTTP/1.1',
    );
  });

  test('text of the other side is not repeated', () => {
    for (const error of [
      failure('x\r\nforged'),
      failure('a'.repeat(100)),
      new Error('peer'),
      'peer',
      null,
      { code: 7 },
    ]) {
      expect(describeFailure(error, false)).toBe('no connection');
      expect(describeFailure(error, true)).toBe('the connection was cut before a response');
    }
  });
});
