/** The guide's tables of secrets, errors, signatures, limits and paths say what the gateway does. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../../server/config/config.ts';
import { FIXED_LIMITS } from '../../server/config/fixed-limits.ts';
import { OFFLINE_AFTER_MS } from '../../server/domain/agent.ts';
import { GONE_AFTER_MS, PUSH_RESPONSE_WITHIN_MS } from '../../server/domain/delivery.ts';
import { HTTP_LIMITS } from '../../server/http/http.ts';
import { describeProblem, PROBLEM_CODES, Problem } from '../../server/http/problems.ts';
import { STORE_LIMITS } from '../../server/ports/limits.ts';
import { createSigner } from '../../server/push/signature.ts';
import { requireObject } from '../../spec/document.ts';
import { listFieldStatements, listGuideStatements } from '../../spec/statements.ts';
import { readDocument } from '../contract/document-check.ts';
import { listWords, readSection, readTable } from '../contract/guide.ts';
import { buildCall, type Call, OPERATIONS, type OperationId } from '../contract/usual-calls.ts';
import { ADMIN_SECRET, SECRET, startTestServer, type TestServer } from '../harness/http-server.ts';
import { createFakeGateway } from './fake-gateway.ts';

const secrets = { gateway: SECRET, admin: ADMIN_SECRET };
const gateway = createFakeGateway();
let open: TestServer;
let strict: TestServer;
beforeAll(async () => {
  open = await startTestServer(gateway);
  strict = await startTestServer(createFakeGateway(), { settings: { isAgentAuthRequired: true } });
});
afterAll(() => Promise.all([open.stop(), strict.stop()]));

/** Requests under way at a time. */
const AT_ONCE = 8;

/** The secrets of one request, by their places. */
type SentSecrets = {
  readonly query?: string;
  readonly authorization?: string;
  readonly admin?: string;
  readonly body?: unknown;
};

/** Every place without a secret, with the right one, and with that of the others; all places at once. */
function listSentSecrets(hasBody: boolean): readonly SentSecrets[] {
  const of = <K extends keyof SentSecrets>(place: K, values: readonly SentSecrets[K][]) => [
    {},
    ...values.map((value) => ({ [place]: value })),
  ];
  const places = [
    of('query', [SECRET, ADMIN_SECRET]),
    of('authorization', [`Bearer ${SECRET}`, `Bearer ${ADMIN_SECRET}`, 'Basic eDp5']),
    of('admin', [ADMIN_SECRET, SECRET]),
    hasBody ? of('body', [SECRET, ADMIN_SECRET, null]) : [{}],
  ];
  return places.reduce<readonly SentSecrets[]>(
    (all, values) => all.flatMap((one) => values.map((value) => ({ ...one, ...value }))),
    [{}],
  );
}

/** The usual call with these secrets and no others. */
function buildSecretCall(operationId: OperationId, { query, authorization, admin, body }: SentSecrets): Call {
  const usual = buildCall(operationId, secrets);
  const url = new URL(usual.path, 'http://a');
  url.searchParams.delete('auth');
  if (query !== undefined) url.searchParams.set('auth', query);
  const hasBody = typeof usual.body === 'string';
  return {
    // The headers of a stream say as much as the stream, which would not end.
    method: operationId === 'subscribeEvents' ? ('HEAD' as 'GET') : usual.method,
    path: url.pathname + url.search,
    headers: {
      ...(hasBody && { 'content-type': 'application/json' }),
      ...(authorization !== undefined && { authorization }),
      ...(admin !== undefined && { 'x-admin-auth': admin }),
    },
    ...(hasBody && { body: JSON.stringify({ ...JSON.parse(String(usual.body)), auth: body }) }),
  };
}

describe('secrets', () => {
  const rows = readTable('Secrets').map((row) => ({
    operations: listWords(row.Operations) as readonly OperationId[],
    inBody: row['In the body'] ?? '',
    beside: row['In the query or as `Authorization: Bearer`'] ?? '',
    missing: row.Missing ?? '',
    wrong: Number(row.Wrong),
  }));
  type Row = (typeof rows)[number];

  test('each operation has a row', () => {
    expect(rows.flatMap(({ operations }) => operations).sort()).toEqual([...OPERATIONS].sort());
  });

  /** What a row and the sentences below the table say of a request; 200 stands for any success. */
  function expectStatus(row: Row, sent: SentSecrets, isStrict: boolean): number {
    const isRight = (secret: unknown): boolean => secret === SECRET;
    const mayBeAdmin = `${row.inBody}${row.beside}`.includes('or the administrator');
    const isAdmin = sent.admin === ADMIN_SECRET;
    if (row.beside.includes('nothing else')) return isAdmin ? 200 : row.wrong;
    const beside =
      sent.query ?? (sent.authorization?.startsWith('Bearer ') ? sent.authorization.slice(7) : undefined);
    if (beside !== undefined && !isRight(beside)) return row.wrong;
    const hasOne = isRight(beside) || (mayBeAdmin && isAdmin);
    if (row.inBody === '–') return hasOne ? 200 : Number(row.missing);
    if (isRight(sent.body)) return 200;
    if (typeof sent.body === 'string') return row.wrong;
    if (row.inBody.startsWith('optional')) {
      if (!hasOne && isStrict) return 401;
      return sent.body === undefined ? 200 : 422;
    }
    if (mayBeAdmin && sent.admin !== undefined && !hasOne) return row.wrong;
    return sent.body === undefined && mayBeAdmin && isAdmin ? 200 : 422;
  }

  test.each(rows)('of $operations', async (row) => {
    const isOptional = row.missing.startsWith('allowed');
    const requests = row.operations.flatMap((name) =>
      listSentSecrets(buildCall(name, secrets).body !== undefined).flatMap((sent) =>
        (isOptional ? [false, true] : [false]).map((isStrict) => ({ name, sent, isStrict })),
      ),
    );
    const differing: string[] = [];
    const ask = async ({ name, sent, isStrict }: (typeof requests)[number]): Promise<void> => {
      const call = buildSecretCall(name, sent);
      const { ok, status, body } = await fetch((isStrict ? strict : open).url + call.path, call);
      await body?.cancel();
      const expected = expectStatus(row, sent, isStrict);
      if ((ok ? 200 : status) !== expected)
        differing.push(`${name} ${JSON.stringify(sent)}: ${status}, not ${expected}`);
    };
    for (let at = 0; at < requests.length; at += AT_ONCE)
      await Promise.all(requests.slice(at, at + AT_ONCE).map(ask));
    expect(differing).toEqual([]);
  });
});

describe('errors', () => {
  test('each code has one row', () => {
    const listed = readTable('What to do with an error').flatMap(({ Code }) => listWords(Code));
    expect([...listed].sort()).toEqual([...PROBLEM_CODES].sort());
  });

  test('the bodies that belong to no operation are those that are sent', async () => {
    const shown = listWords(readSection('What to do with an error')).filter((word) => word.startsWith('{'));
    const wrongMethod = await fetch(`${open.url}/api/cli/tasks`, { method: 'DELETE' });
    const largeHeaders = await fetch(open.url, { headers: { 'x-large': 'x'.repeat(20_000) } });
    expect(shown).toEqual([await wrongMethod.text(), await largeHeaders.text()]);
    expect([wrongMethod.status, largeHeaders.status]).toEqual([405, 431]);
  });

  test('the titles that no response of an operation shows are those that are sent', async () => {
    const words = listWords(readSection('What to do with an error'));
    const { title } = await (await fetch(`${open.url}/nowhere`)).json();
    expect(words[words.lastIndexOf('Path not found') - 1]).toBe('route_not_found');
    expect(title).toBe('Path not found');
    expect(words[words.indexOf('Malformed request') - 1]).toBe('malformed_request');
    const { body } = describeProblem(new Problem('malformed_request', ''));
    expect(JSON.parse(body).title).toBe('Malformed request');
  });

  test('the order of checks names codes that exist, and all that are no state of a task or agent', () => {
    const named = new Set(listWords(readSection('Order of checks')).filter((word) => /^[a-z_]+$/.test(word)));
    for (const field of ['agent_id', 'auth', 'cursor', 'filter', 'schema']) named.delete(field);
    const ofState = [
      'task_not_found',
      'agent_not_found',
      'agent_mismatch',
      'task_terminal',
      'not_asked',
      'too_many_streams',
    ];
    const ofFaults = ['internal', 'store_unavailable'];
    const expected = [...PROBLEM_CODES].filter((code) => ![...ofState, ...ofFaults].includes(code));
    expect([...named].sort()).toEqual(expected.sort());
  });
});

test('the signatures of the test vector are those of the gateway', () => {
  const rows = readTable('The signature of a push').map((row) => [row[''] ?? '', row['Test vector'] ?? '']);
  const find = (name: string): string =>
    listWords(rows.find(([title]) => title?.includes(name))?.[1])[0] ?? '';
  const [id, timestamp, body] = [find('webhook-id'), find('webhook-timestamp'), find('body')];
  const signed = rows.filter(([title]) => title?.startsWith('secret'));
  expect(signed).toHaveLength(2);
  for (const [title, signature] of signed) {
    expect(readConfig({ PUSH_SECRET: listWords(title)[0] }).ok, title).toBe(true);
    const sign = createSigner(listWords(title));
    expect(sign(id, Number(timestamp), Buffer.from(body))).toBe(listWords(signature)[0]);
  }
});

test('the four statuses of a task are final, and the states of an agent are open', () => {
  const { schemas } = requireObject({ ...readDocument() }, 'components');
  const { TaskStatus, AgentState, TaskDone } = requireObject({ schemas }, 'schemas');
  expect(TaskStatus).toMatchObject({ type: 'string', enum: ['pending', 'running', 'success', 'failed'] });
  expect(TaskDone).toMatchObject({ properties: { status: { enum: ['success', 'failed'] } } });
  expect(AgentState).toMatchObject({ anyOf: expect.arrayContaining([{ type: 'string' }]) });
});

const digits = (value: unknown): string => Number(value).toLocaleString('en');

test('the limits are those of the gateway and of the schemas', () => {
  const read = readConfig({});
  if (!read.ok) throw new Error(read.mistakes.join());
  const { config } = read;
  const limits = new Map(
    readTable('Limits').map((row) => [row.What ?? '', `${row.Limit}; ${row['Beyond it']}`]),
  );
  const find = (what: string): string => {
    const key = [...limits.keys()].find((one) => one.startsWith(what));
    return key === undefined ? '' : (limits.get(key) ?? '');
  };
  expect(find('body;')).toContain(`${HTTP_LIMITS.bodyBytesMax / 1_048_576} MiB`);
  expect(find('levels')).toContain(`${HTTP_LIMITS.depthMax} · ${digits(HTTP_LIMITS.keysMax)}`);
  expect(find('parts')).toContain(digits(HTTP_LIMITS.partsMax));
  expect(find('headers')).toContain(`16 KiB, within ${HTTP_LIMITS.headersMs / 1_000} seconds`);
  expect(find('a request')).toContain(`${HTTP_LIMITS.requestMs / 1_000} seconds`);
  expect(find('a request')).toContain(`after ${HTTP_LIMITS.largeBodyMs / 1_000} seconds`);
  const textBytes = STORE_LIMITS.outputBytesMax;
  const allBytes = textBytes + STORE_LIMITS.outputReserveBytes;
  expect(find('output of a task')).toBe(
    `${allBytes / 1_048_576} MiB, of text and data ${textBytes / 1_048_576} MiB; \`accepted: false\``,
  );
  expect(find('output of all tasks')).toContain(`${config.outputBytesMax / 1_048_576} MiB`);
  expect(find('output that is not durable')).toContain(
    `${HTTP_LIMITS.outputWritingBytesMax / 1_048_576} MiB`,
  );
  expect(find('connections')).toContain(digits(HTTP_LIMITS.connectionsMax));
  expect(find('tasks that are pending')).toContain(digits(config.openTasksMax));
  expect(find('agents')).toContain(digits(config.agentsMax));
  const schema = (...path: readonly string[]) =>
    requireObject({ ...readDocument() }, 'components', 'schemas', ...path);
  const endpoint = schema('AgentRegistration', 'properties', 'endpoint');
  expect(find('`endpoint`')).toBe(`${digits(endpoint.maxLength)} characters; 422`);
});

test('the figures in the texts of the guide, fields and responses are those of the gateway', () => {
  const document = { ...readDocument() };
  const said = [...listGuideStatements(document), ...listFieldStatements(document)].map(({ text }) => text);
  const { Name, Tags, RequestIds } = requireObject(document, 'components', 'schemas');
  const { streamsMax, streamsOfOneMax, bodyBytesMax, outputBodyBytesMax } = HTTP_LIMITS;
  const { timeoutMaxMs, keepKeysMs } = FIXED_LIMITS;
  for (const figure of [
    `1 to ${Object(Name).maxLength} code points`,
    `at most ${digits(Object(Tags).maxItems)}.`,
    `At most ${digits(Object(RequestIds).maxItems)}.`,
    `of this session or task (${streamsOfOneMax}) or in total (${digits(streamsMax)})`,
    `larger than ${bodyBytesMax / 1_048_576} MiB (\`writeOutput\`: ${outputBodyBytesMax / 1_024} KiB)`,
    `at most ${digits(timeoutMaxMs / 1_000)} (${timeoutMaxMs / 86_400_000} days)`,
    `keeps it for ${keepKeysMs / 3_600_000} hours`,
    `is offline after ${OFFLINE_AFTER_MS / 1_000} seconds`,
    `unregistered for ${GONE_AFTER_MS / 1_000} seconds`,
    `none within ${PUSH_RESPONSE_WITHIN_MS / 1_000} seconds`,
    `last ${STORE_LIMITS.outputReserveBytes / 1_024} KiB`,
  ])
    expect(said).toContainEqual(expect.stringContaining(figure));
});

test('numbers and keys come out as it says', async () => {
  const payload = '{"c":1.0,"b":0,"2":0,"a":9007199254740993,"1":0,"b":"last"}';
  const usual = buildCall('submitTask', secrets, { payload: 'here' });
  const body = String(usual.body).replace('"here"', payload);
  gateway.calls.length = 0;
  expect((await fetch(open.url + usual.path, { ...usual, body })).status).toBe(200);
  expect(JSON.stringify(gateway.calls[0]?.args[0])).toContain(
    '"payload":{"1":0,"2":0,"c":1,"b":"last","a":9007199254740992}',
  );
});

describe('paths beside the API', () => {
  const paths = readTable('Paths beside the API').flatMap((row) => listWords(row.Path));

  test.each(paths)(
    '%s is served by GET and HEAD, to any origin, with the headers that are named',
    async (path) => {
      const headers = { origin: 'https://page.example' };
      const got = await fetch(open.url + path, { headers });
      const head = await fetch(open.url + path, { method: 'HEAD', headers });
      expect([got.status, head.status, await head.text()]).toEqual([200, 200, '']);
      expect(got.headers.get('access-control-allow-origin')).toBe('*');
      expect(head.headers.get('content-type')).toBe(got.headers.get('content-type'));
      const named = listWords(readSection('Paths beside the API')).filter((word) =>
        /^[A-Z][\w-]+: /.test(word),
      );
      expect(named.length).toBeGreaterThan(2);
      for (const header of named) {
        const [name = '', value = ''] = header.split(': ');
        const isTagged = name === 'Cache-Control' && got.headers.has('etag');
        if (name !== 'Connection') expect(got.headers.get(name), header).toBe(isTagged ? 'no-cache' : value);
      }
      expect(got.headers.get('task-gateway-version')).toMatch(/^\d+\.\d+\.\d+(-dev)?$/);
      await got.body?.cancel();
    },
  );

  test('the bodies of the index and of the probes are those that are shown', async () => {
    const cellOf = (path: string): readonly string[] =>
      listWords(readTable('Paths beside the API').find((row) => row.Path === `\`${path}\``)?.Response);
    for (const path of ['/', '/livez', '/readyz']) {
      expect(cellOf(path)[0]).toBe(await (await fetch(open.url + path)).text());
    }
    for (const path of ['/', '/docs', '/openapi.json']) {
      expect((await fetch(open.url + path)).headers.get('etag'), path).toMatch(/^"/);
    }
  });

  test('a preflight names the headers that a page may send', async () => {
    const server = await startTestServer(createFakeGateway(), { settings: { corsOrigins: ['*'] } });
    const preflight = await fetch(`${server.url}/api/cli/tasks`, {
      method: 'OPTIONS',
      headers: { origin: 'https://page.example', 'access-control-request-method': 'POST' },
    });
    const words = listWords(readSection('Browsers')).map((word) => word.replaceAll(/\s+/g, ' '));
    expect(words).toContain(preflight.headers.get('access-control-allow-headers'));
    expect(preflight.headers.get('access-control-allow-credentials')).toBeNull();
    const got = await fetch(`${server.url}/livez`, { headers: { origin: 'https://page.example' } });
    for (const name of got.headers.get('access-control-expose-headers')?.split(', ') ?? ['none']) {
      expect(words).toContain(name);
    }
    await server.stop();
  });
});
