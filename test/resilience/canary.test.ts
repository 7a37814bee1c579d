/**
 * The real process with a canary for every secret it knows, asked everything in every right and wrong way at the lowest
 * log level: no secret stands in anything it prints, answers, pushes or writes, in any form.
 */
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createLog } from '../../server/system/log.ts';
import { buildCall, OPERATIONS } from '../contract/usual-calls.ts';
import { createCanaries, readStoreFiles } from '../harness/canaries.ts';
import { printTally } from '../harness/figures.ts';
import { useFolder } from '../harness/folder.ts';
import { startGateway } from '../harness/gateway-process.ts';
import { exchange } from '../http/raw-connection.ts';

/** Each holds characters that are written otherwise in a URL and in JSON. */
const CANARY = {
  gateway: 'gw/canary+1=&%25"\\9b1f0c77',
  gatewayPrevious: 'gw-before/canary+2=&%25"\\57aa',
  admin: 'admin/canary+3=&%25"\\c0ffee42',
  adminPrevious: 'admin-before/canary+4=&%"\\beef',
  push: 'whsec_Y2FuYXJ5LWZpdmUtb2YtcHVzaC1zZWNyZXRz',
  pushPrevious: 'push-before/canary+6=&%25"\\d00d',
};
const canaries = createCanaries([...Object.values(CANARY), CANARY.push.slice('whsec_'.length)]);
const secrets = { gateway: CANARY.gateway, admin: CANARY.admin };

/** Everything an agent is sent, headers and body. */
async function startAgent(status: () => number): Promise<{ url: string; pushed: string[] }> {
  const pushed: string[] = [];
  const server = createServer(async (incoming, answer) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    pushed.push(
      `${incoming.url}\n${incoming.rawHeaders.join('\n')}\n${Buffer.concat(chunks).toString('utf8')}`,
    );
    answer.writeHead(status()).end(`the agent says ${CANARY.push}`);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/tasks`, pushed };
}

/** A request as bytes; the connection closes behind it. */
function write(method: string, target: string, headers: readonly string[], body = ''): string {
  const lines = [`${method} ${target} HTTP/1.1`, 'Host: a', 'Connection: close', ...headers];
  if (body !== '') lines.push(`Content-Length: ${Buffer.byteLength(body)}`);
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}

/** A secret, and wrong ones that hold it. */
const spoil = (secret: string): readonly string[] => [
  secret,
  `${secret}x`,
  `x${secret}`,
  `${secret}\u0000`,
  `${secret},${secret}`,
  secret.toUpperCase(),
];

/** Every operation with every secret wherever one could put it, right or not. */
function listRequests(): readonly string[] {
  const requests: string[] = [];
  for (const operationId of OPERATIONS) {
    const { method, path, headers: own = {}, body } = buildCall(operationId, secrets, {}, 'nobody');
    const [bare = path] = path.split('?');
    const usual = Object.entries(own).map(([name, value]) => `${name}: ${value}`);
    for (const secret of Object.values(CANARY).flatMap(spoil)) {
      const quoted = encodeURIComponent(secret);
      const header = secret.replaceAll('\0', '');
      const json = JSON.stringify(secret);
      const glue = path.includes('?') ? '&' : '?';
      const asText = body === undefined ? '' : String(body);
      // A subscription that is in order would not end.
      const wrong = operationId === 'subscribeEvents' ? '&cli_session_id=x' : '';
      requests.push(
        write(method, `${bare}?auth=${quoted}${wrong}${wrong}`, usual, asText),
        write(method, `${path}${glue}auth=${quoted}`, usual, asText),
        write(method, `${bare}/${quoted}`, usual, asText),
        write(
          method,
          `${bare}?${quoted}=${quoted}${wrong}${wrong}`,
          [`Authorization: Bearer ${header}`],
          asText,
        ),
        write(method, `${bare}?wait=${quoted}&limit=${quoted}&status=${quoted}&cursor=${quoted}`, [
          `X-Admin-Auth: ${header}`,
          `Cookie: auth=${header}`,
          `Referer: http://a/?auth=${quoted}`,
          `User-Agent: ${header}`,
          `Authorization: Basic ${btoa(`:${header}`)}`,
        ]),
      );
      if (body === undefined) continue;
      for (const spoilt of [
        asText.replace('{', `{"auth":${json},`).replace('}', ''),
        `{"auth":[${json}],"agent_id":7,${json}:${json}}`,
        `{"auth":{${json}:${json}},"agent_id":"a"}`,
        `{"auth":${json},"agent_id":"nobody","task_type":7,"endpoint":"${quoted}://x","progress":${json}}`,
        `auth=${quoted}`,
        json,
      ])
        requests.push(write(method, bare, ['Content-Type: application/json'], spoilt));
    }
  }
  return requests;
}

/** What is no request, or not one that anybody serves. */
function listOddities(): readonly string[] {
  const quoted = encodeURIComponent(CANARY.gateway);
  return [
    `GET /?auth=${quoted} HTTP/9.9\r\n\r\n`,
    `${CANARY.gateway}\r\n\r\n`,
    `GET / HTTP/1.1\r\nHost: a\r\nX-Admin-Auth ${CANARY.admin}\r\n\r\n`,
    write('GET', `/?auth=${quoted}`, [`X: ${CANARY.admin.repeat(800)}`]),
    write('DELETE', `/api/cli/tasks?auth=${quoted}`, []),
    write('GET', `/nowhere/${quoted}?auth=${quoted}`, []),
    write('OPTIONS', `/api/cli/tasks?auth=${quoted}`, [`Origin: http://${CANARY.admin}`]),
    ...[
      '/',
      '/livez',
      '/readyz',
      '/openapi.json',
      '/openapi.yaml',
      '/openapi.3.2.json',
      '/openapi.agent.json',
    ].map((page) =>
      write('GET', `${page}?auth=${quoted}`, [
        `X-Admin-Auth: ${CANARY.admin}`,
        `If-None-Match: ${CANARY.admin}`,
      ]),
    ),
  ];
}

describe('a secret of a running gateway', () => {
  test('stands in nothing that it prints, answers, pushes or writes', { timeout: 60_000 }, async () => {
    const folder = useFolder();
    const store = join(folder, 'gateway.db');
    writeFileSync(join(folder, 'gateway-secret'), `${CANARY.gateway}\n`);
    writeFileSync(join(folder, 'admin-before'), CANARY.adminPrevious);
    const gateway = await startGateway({
      GATEWAY_AUTH_FILE: join(folder, 'gateway-secret'),
      GATEWAY_AUTH_PREVIOUS: CANARY.gatewayPrevious,
      ADMIN_AUTH: CANARY.admin,
      ADMIN_AUTH_PREVIOUS_FILE: join(folder, 'admin-before'),
      PUSH_SECRET: CANARY.push,
      PUSH_SECRET_PREVIOUS: CANARY.pushPrevious,
      STORE: `sqlite:${store}`,
      LOG_LEVEL: 'trace',
      OPEN_TASKS_MAX: '4',
      PUSH_DENY: '127.0.0.2',
    });
    onTestFinished(() => gateway.kill());
    const port = Number(new URL(gateway.baseUrl).port);
    const answers: string[] = [];
    const ask = async (request: string): Promise<string> => {
      const answer = await exchange(port, request);
      answers.push(answer);
      return answer;
    };
    const post = (path: string, body: object): Promise<string> =>
      ask(write('POST', path, [], JSON.stringify(body)));
    const auth = CANARY.gateway;

    // The ordinary life of tasks: taken, refused, moved, reported, failed, cancelled, too many; and their stream.
    let status = 202;
    const agent = await startAgent(() => status);
    const submit = (tag: string): Promise<string> =>
      post('/api/cli/tasks', {
        auth,
        task_type: 't',
        task_tags: [tag],
        cli_session_id: 's',
        payload: { a: 1 },
      });
    const register = (agent_id: string, endpoint: string): Promise<string> =>
      post('/api/agent/register', { auth, agent_id, endpoint, agent_tags: [agent_id], max_concurrent: 9 });
    await register('good', agent.url);
    await register('denied', 'http://127.0.0.2:1/');
    await register('gone', 'http://127.0.0.1:1/');
    const taken = await submit('good');
    const [, request_id = ''] = /"request_id":"([^"]+)"/.exec(taken) ?? [];
    await expect.poll(() => agent.pushed.length).toBe(1);
    status = 500;
    for (const tag of ['good', 'denied', 'gone', 'good', 'good', 'nobody']) await submit(tag);
    await expect.poll(() => agent.pushed.length).toBeGreaterThan(1);
    expect(answers.some((answer) => answer.startsWith('HTTP/1.1 503'))).toBe(true);
    const report = { request_id, agent_id: 'good', status: 'success', result: { output: 'done' } };
    for (const more of [{}, { auth }, { auth: CANARY.gatewayPrevious }])
      await post('/api/agent/result', { ...report, ...more });
    const streamed = await fetch(
      `${gateway.baseUrl}/api/cli/events?cli_session_id=s&auth=${encodeURIComponent(auth)}`,
      { headers: { cookie: CANARY.push } },
    );
    const reader = streamed.body?.pipeThrough(new TextDecoderStream()).getReader();
    let events = JSON.stringify([...streamed.headers]);
    while (reader && !events.includes('task_done')) events += (await reader.read()).value ?? '';
    await reader?.cancel();
    answers.push(events);

    const requests = [...listRequests(), ...listOddities()];
    for (let at = 0; at < requests.length; at += 64) await Promise.all(requests.slice(at, at + 64).map(ask));

    const found = new Set(answers.map((answer) => /^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1]));
    for (const one of ['200', '400', '401', '404', '405', '422', '431', '503']) expect(found).toContain(one);
    const written = readStoreFiles(store);
    expect([...written.keys()].length).toBeGreaterThanOrEqual(2);
    expect(await gateway.stop()).toBe(0);
    const outputs: readonly (readonly [string, string | Buffer])[] = [
      ['output', gateway.output()],
      ...written,
      ...readStoreFiles(store),
      ...answers.map((answer) => ['an answer', answer] as const),
      ...agent.pushed.map((push) => ['a push', push] as const),
    ];
    const leaks = outputs.flatMap(([where, output]) =>
      canaries.findLeaks(output).map((leak) => `${where}: ${leak}: ${String(output).slice(0, 400)}`),
    );
    expect(leaks).toEqual([]);
    // The search was not idle: what is not secret is there.
    expect(gateway.output().split('\n').length).toBeGreaterThan(requests.length);
    expect(agent.pushed.join()).toContain('webhook-signature');
    printTally('canary-outputs-searched', outputs.length, 'outputs');
    printTally('canary-leaks', leaks.length, 'leaks');
  });

  test('stands in no message about settings that cannot be used', { timeout: 60_000 }, async () => {
    const long = 'the-canary-of-settings-that-is-longer-than-any-message-quotes-of-a-value-0123456789';
    const given = { GATEWAY_AUTH: long, ADMIN_AUTH: CANARY.admin, PUSH_SECRET: CANARY.pushPrevious };
    const wrong: readonly Readonly<Record<string, string>>[] = [
      // A secret where its name suggests one, or beside where it belongs.
      { AGENT_AUTH: long, PORT: long, LOG_LEVEL: long },
      { AGENT_AUTH: 'the-agents-own-canary-secret', HOST: `${CANARY.admin} `, CORS_ORIGINS: long },
      { STORE: `redis://:${long}@host`, PUSH_ALLOW: `${long},${CANARY.admin}`, BODY_MAX_BYTES: CANARY.admin },
      {
        GATEWAY_AUTH: `${long} ${long}`,
        ADMIN_AUTH: `${CANARY.admin}\n`,
        PUSH_SECRET: 'whsec_canary-of-pushes',
      },
      { GATEWAY_AUTH: CANARY.admin, PUSH_SECRET: CANARY.admin },
      { GATEWAY_AUTH_FILE: long, ADMIN_AUTH_FILE: `/nowhere/${CANARY.admin}` },
      { [long]: long, STORE: `sqlite:${useFolder()}` },
    ];
    const { findLeaks } = createCanaries([
      ...[long.slice(0, 40), CANARY.admin.slice(0, 20), CANARY.pushPrevious, CANARY.gateway],
      ...['the-agents-own-canary-secret', 'canary-of-pushes'],
    ]);
    for (const settings of wrong) {
      const refusal = await startGateway({ ...given, ...settings }).then(
        () => 'it started',
        (error: Error) => error.message,
      );
      expect(refusal).toContain('The gateway was not started.');
      expect([refusal, findLeaks(refusal)]).toEqual([refusal, []]);
    }
  });

  test('stands in no line about a fault that tells it', () => {
    const lines: string[] = [];
    const log = createLog({
      level: 'trace',
      secrets: Object.values(CANARY),
      write: (line) => lines.push(line),
    });
    for (const secret of Object.values(CANARY)) {
      const cause = new Error(`connect to redis://:${encodeURIComponent(secret)}@host failed`);
      const error = Object.assign(new Error(`while asking ${JSON.stringify(secret)}`, { cause }), {
        url: `/?auth=${secret}`,
      });
      log.error({ error, [secret]: [secret, { auth: encodeURIComponent(secret) }] }, `with ${secret}`);
    }
    expect(lines).toHaveLength(Object.keys(CANARY).length);
    expect(lines.flatMap((line) => canaries.findLeaks(line))).toEqual([]);
  });
});

describe('a planted leak', () => {
  test.each([
    ['as it is', CANARY.gateway],
    ['in a query', encodeURIComponent(CANARY.gateway)],
    ['in a form', new URLSearchParams({ a: CANARY.gateway }).toString()],
    ['in a query twice', encodeURIComponent(encodeURIComponent(CANARY.gateway))],
    ['in JSON', JSON.stringify({ a: CANARY.gateway })],
    ['in JSON in JSON', JSON.stringify(JSON.stringify({ a: CANARY.gateway }))],
    ['in base64', Buffer.from(CANARY.gateway).toString('base64')],
    ['in base64 behind one byte', Buffer.from(`x${CANARY.gateway}y`).toString('base64')],
    ['in base64 behind a name', btoa(`ab:${CANARY.gateway}`)],
    ['in base64 of a URL', Buffer.from(`xy${CANARY.gateway}`).toString('base64url')],
    ['in hexadecimal', Buffer.from(CANARY.gateway).toString('hex')],
    ['in capitals', CANARY.gateway.toUpperCase()],
    ['in UTF-16', Buffer.from(CANARY.gateway, 'utf16le').toString('latin1')],
  ])('is found %s', (_form, text) => {
    expect(canaries.findLeaks(`before ${text} after`)).not.toEqual([]);
    expect(canaries.findLeaks(Buffer.from(`\u0000${text}\u0001`))).not.toEqual([]);
  });

  test('fails whichever suite runs the gateway that lets it out', async () => {
    const folder = useFolder();
    const gateway = await startGateway({
      STORE: `sqlite:${join(folder, 'gateway.db')}`,
      ADMIN_AUTH: CANARY.admin,
    });
    onTestFinished(() => gateway.kill().catch(() => undefined));
    writeFileSync(join(folder, 'gateway.db-planted'), `rubbish ${btoa(CANARY.admin)}`);
    await expect(gateway.stop()).rejects.toThrow('told secrets in gateway.db-planted: secret 2, base64');
  });
});
