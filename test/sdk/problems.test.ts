/**
 * Each problem that the contract names: the class of the SDK's error, whether a call is sent again, and the
 * exit code and the advice of the command line.
 */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { describeError, EXIT_CODES } from '../../sdk/cli/exit-codes.ts';
import type { Problem } from '../../sdk/contract.ts';
import * as sdk from '../../sdk/index.ts';
import { connect } from './calls-fixture.ts';
import { json } from './scripted-fetch.ts';
import { elapse } from './sdk-clock.ts';

const url = new URL('../../generated/conformance/vectors/problems.json', import.meta.url);
const problems = JSON.parse(readFileSync(url, 'utf8')) as readonly Problem[];
const { other, usage, auth, notFound } = EXIT_CODES;
const ID = / Check the id and --url\.$/;
const SECRET =
  /^The gateway rejects the gateway secret\. Give .* TASK_GATEWAY_AUTH, --auth-file or --auth\.$/;

const ROWS: Readonly<
  Record<string, readonly [typeof sdk.ApiError, sends: 1 | 2, exitCode: number, text?: RegExp]>
> = {
  malformed_body: [sdk.BadRequestError, 1, other],
  agent_id_missing: [sdk.BadRequestError, 1, other],
  agent_mismatch: [sdk.BadRequestError, 1, other],
  task_terminal: [sdk.BadRequestError, 1, other],
  not_asked: [sdk.BadRequestError, 1, other],
  unauthorized: [sdk.AuthenticationError, 1, auth, SECRET],
  origin_not_allowed: [sdk.ForbiddenError, 1, other],
  read_only: [sdk.ForbiddenError, 1, other],
  task_not_found: [sdk.NotFoundError, 1, notFound, ID],
  agent_not_found: [sdk.NotFoundError, 1, notFound, ID],
  request_timeout: [sdk.ApiError, 2, other],
  payload_too_large: [sdk.PayloadTooLargeError, 1, other],
  unsupported_media_type: [sdk.UnsupportedMediaTypeError, 1, other],
  misdirected: [sdk.MisdirectedError, 1, other],
  validation_failed: [sdk.ValidationError, 1, usage],
  idempotency_conflict: [sdk.ValidationError, 1, usage],
  too_many_streams: [sdk.RateLimitError, 2, other, / Try again in 1 s\.$/],
  headers_too_large: [sdk.ApiError, 1, other],
  internal: [sdk.InternalError, 2, other],
  busy: [sdk.UnavailableError, 2, other, / Try again in 1 s\.$/],
  store_unavailable: [sdk.UnavailableError, 2, other, / Try again in 1 s\.$/],
  // What belongs to no operation, and what a later gateway may send.
  route_not_found: [sdk.NotFoundError, 1, other, / This may not be a Task Gateway: check --url\.$/],
  teapot: [sdk.ApiError, 1, other],
};
const MORE = [
  { type: 'x', title: 'No route', status: 404, detail: 'There is no such path.', code: 'route_not_found' },
  { type: 'x', title: 'Teapot', status: 418, detail: 'Do it otherwise.', code: 'teapot' },
] as unknown as readonly Problem[];

test('The table has each problem of the contract, and the classes of different statuses differ.', () => {
  expect(Object.keys(ROWS).sort()).toEqual([...problems, ...MORE].map(({ code }) => code).sort());
  const classes = new Map(problems.map(({ status, code }) => [status, ROWS[code]?.[0]]));
  const own = [...classes.values()].filter((one) => one !== sdk.ApiError);
  expect(new Set(own).size).toBe(own.length);
});

test.each([...problems, ...MORE])('$status $code', async (problem) => {
  const [Class, sends, exitCode, hint] = ROWS[problem.code] ?? [];
  const isWait = hint?.source.includes('Try again');
  const response = json(problem, problem.status, isWait ? { 'retry-after': '1' } : {});
  const { client, clock, sent } = connect([response], { maxRetries: 1 });
  const call = client.getTask('t').catch((error: unknown) => error as sdk.ApiError);
  const error = (await elapse(clock, call)) as sdk.ApiError;
  expect(error).toBeInstanceOf(sdk.ApiError);
  const { status, code, title, detail } = problem;
  expect([error.constructor, error.name, sent.length]).toEqual([Class, Class?.name, sends]);
  expect(error).toMatchObject({ status, code, problem, attempts: sends });
  expect(error.message).toMatch(`${status} ${title}: ${detail}`);
  const failure = describeError(error);
  expect(failure).toEqual({ exitCode, text: expect.stringMatching(hint ?? /./) });
  if (hint !== SECRET) expect(failure.text).toContain(detail);
  expect(failure.text).not.toContain('\n');
});
