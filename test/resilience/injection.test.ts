/**
 * Texts that try to be more than text: keys that would change every object, lines that would forge a log or
 * control a terminal, headers inside of ids, paths that would lead elsewhere. They stay data, or are refused.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createLog } from '../../server/system/log.ts';
import { buildCall, type OperationId, send } from '../contract/usual-calls.ts';
import { ADMIN_SECRET, type GatewayProcess, SECRET, startGateway } from '../harness/gateway-process.ts';
import { exchange } from '../http/raw-connection.ts';

const secrets = { gateway: SECRET, admin: ADMIN_SECRET };

/**
 * Forged lines, line ends of every kind, escapes that colour, move and title, and marks that turn text
 * around.
 */
const FORGERIES: readonly string[] = [
  'a\r\n{"level":"error","msg":"forged"}',
  'a\n{"level":"error","msg":"forged"}\n',
  'a\r{"level":"error"}',
  'a\u2028{"level":"error"}\u2029{"msg":"forged"}\u0085',
  '\u001b[2J\u001b[31mred\u001b]0;title\u0007\u009b31m',
  '\u202eedoc\u2066\u200b\ufeff\u0000\u007f\b\b',
  '","level":"error","msg":"forged","x":"',
  '\r\nSet-Cookie: forged=1\r\n\r\n<script>',
];
/** As ids, so without what an id may not hold. */
const IDS = FORGERIES.filter((text) => text.isWellFormed());

let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = await startGateway({ LOG_LEVEL: 'trace' });
});
afterAll(async () => {
  await gateway.stop();
});

const ask = async (operation: OperationId, body: object = {}, id = 'x') => {
  const answer = await send(
    gateway.baseUrl,
    buildCall(operation, secrets, { ...body }, encodeURIComponent(id)),
  );
  return { ...answer, json: answer.text === '' ? {} : JSON.parse(answer.text) };
};
const portOf = (): number => Number(new URL(gateway.baseUrl).port);

describe('keys that would change every object', () => {
  /** As text: a literal would set the prototype instead of making the key. */
  const EVIL =
    '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"prototype":{"polluted":1}}';

  test('stay data in a payload, in a result, and come out as they went in', async () => {
    const payload = JSON.parse(EVIL);
    const agent_id = '__proto__';
    const register = await ask('registerAgent', { agent_id, agent_tags: ['__proto__', 'constructor'] });
    expect(register.json).toMatchObject({ ok: true, agent_id });
    const task_tags = ['__proto__', 'toString', 'constructor', 'hasOwnProperty'];
    const submitted = await ask('submitTask', {
      payload,
      task_tags,
      task_type: 'constructor',
      cli_session_id: '__proto__',
    });
    expect(JSON.stringify(submitted.json.payload)).toBe(EVIL);
    expect(submitted.json.task_tags).toEqual(task_tags);
    const { request_id } = submitted.json;
    await expect.poll(async () => (await ask('getTask', {}, request_id)).json.agent_id).toBe(agent_id);
    const result = JSON.parse(EVIL);
    const reported = await ask('reportResult', { request_id, agent_id, status: 'success', result });
    expect(reported.json).toMatchObject({ accepted: true });
    const { text } = await ask('getTask', {}, request_id);
    expect(text).toContain(`"payload":${EVIL}`);
    expect(text).toContain(`"result":${EVIL}`);
    expect(
      (await send(gateway.baseUrl, buildCall('subscribeEvents', secrets, {}, '__proto__'))).text,
    ).toContain(`"result":${EVIL}`);
    for (const session of ['constructor', 'toString']) {
      const stream = await exchange(
        portOf(),
        `HEAD /api/cli/events?cli_session_id=${session}&auth=${SECRET} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
      );
      expect(stream).toMatch(/^HTTP\/1\.1 200 /);
    }
  });

  test('set nothing beside a body’s fields, and no field comes from a prototype', async () => {
    // If they did, the secret and everything else that is missing would be found on the prototype.
    const inherited = `{"auth":${JSON.stringify(SECRET)},"agent_id":"a","task_type":"t","task_tags":[],"payload":{}}`;
    const body = `{"__proto__":${inherited},"constructor":{"prototype":${inherited}}}`;
    for (const path of [
      '/api/cli/tasks',
      '/api/agent/register',
      '/api/agent/claim',
      '/api/agent/heartbeat',
    ]) {
      const answer = await fetch(gateway.baseUrl + path, { method: 'POST', body });
      expect([path, answer.status]).toEqual([path, /claim|heartbeat/.test(path) ? 400 : 422]);
    }
    const plain = await ask('submitTask', { task_tags: ['none'] });
    expect(Object.keys(plain.json).sort()).toEqual([
      ...[
        'agent_id',
        'cli_session_id',
        'create_time',
        'error_info',
        'payload',
        'progress',
        'request_id',
        'result',
      ],
      ...['status', 'task_tags', 'task_type', 'timeout'],
    ]);
  });

  test('are no parameters, no headers, no ids and no paths', async () => {
    for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '__proto__[polluted]']) {
      const get = (path: string): Promise<Response> =>
        fetch(gateway.baseUrl + path, { headers: { 'x-admin-auth': ADMIN_SECRET } });
      expect((await get(`/api/admin/tasks?${name}=1&${name}[limit]=x`)).status).toBe(200);
      expect((await get(`/api/admin/tasks?tag=${name}&session=${name}&agent=${name}`)).status).toBe(200);
      expect((await get(`/api/cli/tasks/${name}?auth=${SECRET}`)).status).toBe(404);
      expect((await get(`/${name}`)).status).toBe(404);
      for (const operation of ['heartbeatAgent', 'unregisterAgent', 'claimTask', 'reportResult'] as const)
        expect((await ask(operation, { agent_id: `${name}-nobody`, request_id: name })).status).toBe(404);
      expect(
        (await ask('heartbeatAgent', { agent_id: name === '__proto__' ? 'valueOf' : name })).status,
      ).toBe(404);
    }
  });
});

describe('texts that would forge a log', () => {
  test('in every field and header leave each line of it one object of the gateway’s own', async () => {
    for (const text of IDS) {
      const endpoint = `http://127.0.0.1:1/${encodeURIComponent(text)}`;
      await ask('registerAgent', { agent_id: text, endpoint, agent_tags: [text] });
      const { json } = await ask('submitTask', {
        task_type: text,
        task_tags: [text],
        cli_session_id: text,
        payload: { [text]: text },
      });
      await ask('heartbeatAgent', { agent_id: text, draining: text });
      await ask('reportResult', {
        request_id: json.request_id,
        agent_id: text,
        status: 'failed',
        error_info: text,
      });
      await ask('reportResult', { request_id: text, agent_id: text, status: text, [text]: text });
      for (const operation of ['getTask', 'cancelTask'] as const) await ask(operation, {}, text);
      const escaped = encodeURIComponent(text);
      await fetch(`${gateway.baseUrl}/${escaped}?${escaped}=${escaped}`, {
        headers: { 'user-agent': escaped },
      });
      const raw = Buffer.from(`GET /${text} HTTP/1.1\r\nHost: ${text}\r\nX: ${text}\r\n\r\n\0\r\n\r\n`);
      await exchange(portOf(), raw);
    }
    const lines = gateway.output().trimEnd().split('\n');
    expect(lines.length).toBeGreaterThan(IDS.length);
    for (const line of lines) {
      const { level, msg } = JSON.parse(line);
      expect([level, msg]).not.toContain('forged');
      expect(level, line).not.toBe('error');
      expect(line).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u);
    }
  });

  test.each([true, false])('stay on their line, and control no terminal (for people: %s)', (pretty) => {
    const printed: string[] = [];
    const log = createLog({ level: 'trace', secrets: [], pretty, write: (line) => printed.push(line) });
    for (const text of FORGERIES) {
      const error = Object.assign(new Error(text), { code: text, stack: `Error: ${text}\n    at ${text}` });
      log.warn({ agent_id: text, [text]: { deep: [text] }, error }, `says ${text}`);
    }
    expect(printed).toHaveLength(FORGERIES.length);
    for (const entry of printed) {
      expect(entry.endsWith('\n')).toBe(true);
      // Of all invisible characters only the line ends of a stack are left.
      expect(entry.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u);
      const [, ...rest] = entry.trimEnd().split('\n');
      if (!pretty) expect(rest).toEqual([]);
      // After the first line comes the stack, indented: none of its lines begins as a line of the log does.
      for (const line of rest) expect(line).toMatch(/^\s/);
    }
  });
});

describe('headers inside of ids', () => {
  test('add no header to a response or a push', async () => {
    const pushes: { readonly names: readonly string[]; readonly url: string }[] = [];
    const agent = createServer((incoming, response) => {
      const names = incoming.rawHeaders
        .filter((_text, index) => index % 2 === 0)
        .map((name) => name.toLowerCase());
      pushes.push({ names: names.toSorted(), url: incoming.url ?? '' });
      response.writeHead(202).end();
    });
    await new Promise<void>((listening) => agent.listen(0, '127.0.0.1', listening));
    onTestFinished(() => {
      agent.closeAllConnections();
      agent.close();
    });
    const base = `http://127.0.0.1:${(agent.address() as AddressInfo).port}`;
    for (const [nth, text] of ['plain', ...IDS].entries()) {
      const agent_id = `${text}#${nth}`;
      // Line ends are taken out of a URL by its own rules; what is left must be one path.
      const registered = await ask('registerAgent', {
        agent_id,
        agent_tags: [agent_id],
        endpoint: `${base}/in ${text}`,
        max_concurrent: 5,
      });
      const key = { 'idempotency-key': `key-${nth}` };
      const call = buildCall('submitTask', secrets, {
        task_type: text,
        task_tags: [agent_id],
        cli_session_id: text,
      });
      const submitted = await send(gateway.baseUrl, { ...call, headers: { ...call.headers, ...key } });
      for (const answer of [
        registered,
        submitted,
        await ask('getTask', {}, text),
        await ask('cancelTask', {}, text),
      ])
        expect([...answer.headers.keys()]).not.toContain('set-cookie');
      expect(registered.status).toBe(200);
    }
    await expect.poll(() => pushes.length).toBe(IDS.length + 1);
    for (const { names } of pushes) expect(names).toEqual(pushes[0]?.names);
    for (const { url } of pushes) expect(url).toMatch(/^\/in%20[\x21-\x7e]+$/);
  });
});

describe('paths that would lead elsewhere', () => {
  test.each([
    ...['/api/cli/tasks/%ff', '/api/cli/tasks/%00', '/api/cli/tasks/%c0%ae%c0%ae', '/api/cli/tasks/%'],
    ...[
      '/api/cli/tasks/..%2f..%2fadmin%2fagents',
      '/api/cli/tasks/../../admin/agents',
      '/api/cli/../admin/agents',
    ],
    ...[
      '/%2e%2e/%2e%2e/etc/passwd',
      '/../../etc/passwd',
      '/api/cli/tasks/%2e%2e/%2e%2e/admin/agents',
      '//livez',
    ],
    ...[
      '/openapi.json/../package.json',
      '/..%5c..%5cpackage.json',
      '/.git/config',
      '/api/admin/agents/',
      '/API/admin/agents',
    ],
    ...['/api/admin%2fagents', '/api/admin/agents%00', '/api/admin/agents;x=1', '/api/cli/tasks/x\\..\\y'],
  ])('%s belongs to no operation', async (path) => {
    const head = `GET ${path}?auth=${SECRET} HTTP/1.1\r\nHost: a\r\nX-Admin-Auth: ${ADMIN_SECRET}\r\nConnection: close\r\n\r\n`;
    expect(await exchange(portOf(), head)).toMatch(/^HTTP\/1\.1 40[04] /);
  });
});
