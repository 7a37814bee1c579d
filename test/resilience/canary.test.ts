/**
 * The real process with a canary as each of its secrets, called in every right and wrong way at the lowest
 * log level: no secret is in anything it prints, returns, pushes or writes, in any form.
 */
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createCanaries, readStoreFiles } from '../harness/canaries.ts';
import { printTally } from '../harness/figures.ts';
import { useFolder } from '../harness/folder.ts';
import { startGateway } from '../harness/gateway-process.ts';
import { exchange } from '../http/raw-connection.ts';
import { CANARY, listOddities, listRequests, writeRequest } from './canary-requests.ts';

const canaries = createCanaries([...Object.values(CANARY), CANARY.push.slice('whsec_'.length)]);

/** An agent that keeps each push it is sent, headers and body. */
async function startAgent(status: () => number): Promise<{ url: string; pushed: string[] }> {
  const pushed: string[] = [];
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    pushed.push(
      `${incoming.url}\n${incoming.rawHeaders.join('\n')}\n${Buffer.concat(chunks).toString('utf8')}`,
    );
    response.writeHead(status()).end(`the agent says ${CANARY.push}`);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/tasks`, pushed };
}

/** A gateway with a secret in each setting that takes one, some of them from files, and its store. */
async function startWithCanaries() {
  const folder = useFolder();
  const store = join(folder, 'gateway.db');
  writeFileSync(join(folder, 'gateway-secrets'), `${CANARY.gateway} ${CANARY.gatewayPrevious}\n`);
  const gateway = await startGateway({
    GATEWAY_AUTH_FILE: join(folder, 'gateway-secrets'),
    ADMIN_AUTH: `${CANARY.admin} ${CANARY.adminPrevious}`,
    PUSH_SECRET: `${CANARY.push} ${CANARY.pushPrevious}`,
    STORE: `sqlite:${store}`,
    LOG_LEVEL: 'trace',
    OPEN_TASKS_MAX: '4',
    PUSH_DENY: '127.0.0.2',
  });
  onTestFinished(() => gateway.kill());
  return { gateway, store };
}

type Ask = (request: string) => Promise<string>;

/**
 * Tasks that are accepted, refused, pushed, reported, failed and too many. Returns what the agent was sent.
 */
async function useEveryOutcome(ask: Ask, answers: readonly string[]): Promise<readonly string[]> {
  const auth = CANARY.gateway;
  const post = (path: string, body: object): Promise<string> =>
    ask(writeRequest('POST', path, [], JSON.stringify(body)));
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
  let status = 202;
  const agent = await startAgent(() => status);
  await register('good', agent.url);
  await register('denied', 'http://127.0.0.2:1/');
  await register('gone', 'http://127.0.0.1:1/');
  const accepted = await submit('good');
  const [, request_id = ''] = /"request_id":"([^"]+)"/.exec(accepted) ?? [];
  await expect.poll(() => agent.pushed.length).toBe(1);
  status = 500;
  for (const tag of ['good', 'denied', 'gone', 'good', 'good', 'nobody']) await submit(tag);
  await expect.poll(() => agent.pushed.length).toBeGreaterThan(1);
  expect(answers.some((answer) => answer.startsWith('HTTP/1.1 503'))).toBe(true);
  const report = { request_id, agent_id: 'good', status: 'success', result: { output: 'done' } };
  for (const more of [{}, { auth }, { auth: CANARY.gatewayPrevious }])
    await post('/api/agent/result', { ...report, ...more });
  return agent.pushed;
}

/** The head and the events of the session's stream, up to one that ends a task. */
async function readStream(baseUrl: string): Promise<string> {
  const response = await fetch(
    `${baseUrl}/api/cli/events?cli_session_id=s&auth=${encodeURIComponent(CANARY.gateway)}`,
    { headers: { cookie: CANARY.push } },
  );
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let events = JSON.stringify([...response.headers]);
  while (reader && !events.includes('task_done')) events += (await reader.read()).value ?? '';
  await reader?.cancel();
  return events;
}

describe('a secret of a running gateway', () => {
  test('is in nothing that it prints, returns, pushes or writes', async () => {
    const { gateway, store } = await startWithCanaries();
    const port = Number(new URL(gateway.baseUrl).port);
    const answers: string[] = [];
    const ask: Ask = async (request) => {
      const answer = await exchange(port, request);
      answers.push(answer);
      return answer;
    };
    const pushed = await useEveryOutcome(ask, answers);
    answers.push(await readStream(gateway.baseUrl));
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
      ...answers.map((answer) => ['a response', answer] as const),
      ...pushed.map((push) => ['a push', push] as const),
    ];
    const leaks = outputs.flatMap(([where, output]) =>
      canaries.findLeaks(output).map((leak) => `${where}: ${leak}: ${String(output).slice(0, 400)}`),
    );
    expect(leaks).toEqual([]);
    // The search had something to search: what is not secret is there.
    expect(gateway.output().split('\n').length).toBeGreaterThan(requests.length);
    expect(pushed.join()).toContain('webhook-signature');
    printTally('canary-outputs-searched', outputs.length, 'outputs');
    printTally('canary-leaks', leaks.length, 'leaks');
  });

  test('is in no message about settings that cannot be used', async () => {
    const long = 'the-canary-of-settings-that-is-longer-than-any-message-quotes-of-a-value-0123456789';
    const given = { GATEWAY_AUTH: long, ADMIN_AUTH: CANARY.admin, PUSH_SECRET: CANARY.pushPrevious };
    const wrong: readonly Readonly<Record<string, string>>[] = [
      // A secret under a name that suggests one, or in a setting beside the right one.
      { AGENT_AUTH: long, PORT: long, LOG_LEVEL: long },
      { AGENT_AUTH: 'the-agents-own-canary-secret', HOST: `${CANARY.admin} `, CORS_ORIGINS: long },
      { STORE: `redis://:${long}@host`, PUSH_ALLOW: `${long},${CANARY.admin}`, OPEN_TASKS_MAX: CANARY.admin },
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

  test('fails every suite that runs a gateway which leaks it', async () => {
    const folder = useFolder();
    const gateway = await startGateway({
      STORE: `sqlite:${join(folder, 'gateway.db')}`,
      ADMIN_AUTH: CANARY.admin,
    });
    onTestFinished(() => gateway.kill().catch(() => undefined));
    writeFileSync(join(folder, 'gateway.db-planted'), `rubbish ${btoa(CANARY.admin)}`);
    await expect(gateway.stop()).rejects.toThrow('secrets in gateway.db-planted: secret 2, base64');
  });
});
