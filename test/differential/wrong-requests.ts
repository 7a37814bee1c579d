/** Requests that are refused, from the published schemas and from the guide's tables. */
import { OPERATIONS as ALL, buildCall, type Call, type OperationId } from '../contract/usual-calls.ts';
import {
  bodies as allBodies,
  operations as allOperations,
  breakSchema,
  putWrong,
  type Wrong,
} from '../http/wrong-values.ts';
import { SERVED } from './second-gateway/serve.ts';

export const SECRETS = { gateway: 'a-gateway-secret-for-tests', admin: 'an-admin-secret-for-tests' };

/** A gateway under observation. */
export type Peer = {
  /** What was observed, each as one line of text. */
  readonly seen: readonly string[];
  /** Sends a request and records what is compared: status, headers, code and pointers. */
  send(label: string, method: string, path: string, more?: Sent): Promise<void>;
};

type Sent = {
  readonly json?: unknown;
  readonly text?: string | Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
};

const COMPARED_HEADERS = ['content-type', 'allow', 'cache-control', 'retry-after', 'x-accel-buffering'];

/** Creates the observer of a gateway. */
export function createPeer(baseUrl: string): Peer {
  const seen: string[] = [];
  return {
    seen,
    async send(label, method, path, { json, text, headers = {} } = {}) {
      const body = json === undefined ? text : JSON.stringify(json);
      const response = await fetch(baseUrl + path, {
        method,
        headers: { ...(json !== undefined && { 'content-type': 'application/json' }), ...headers },
        ...(body !== undefined && { body }),
      });
      const type = response.headers.get('content-type') ?? '-';
      const isStream = type.startsWith('text/event-stream');
      if (isStream) await response.body?.cancel();
      const read = isStream ? '' : await response.text();
      const { code, errors } = type.includes('json') && read !== '' ? JSON.parse(read) : {};
      // Of errors and of the items of a header no order is promised.
      const pointers = (errors as { pointer: string }[] | undefined)?.map(({ pointer }) => pointer).sort();
      const compared = COMPARED_HEADERS.map((name) =>
        (response.headers.get(name) ?? '-').split(', ').sort().join(),
      );
      seen.push(`${label}: ${[response.status, code ?? '-', pointers ?? '-', ...compared].join(' ')}`);
    },
  };
}

/** The second gateway has no explanations, and of the administrator's calls the two listings alone. */
const isServed = (operationId: OperationId): boolean => Object.hasOwn(SERVED, operationId);
const OPERATIONS = ALL.filter(isServed);
const bodies = allBodies.filter((one) => isServed(one.operationId));
const operations = allOperations.filter((one) => isServed(one.operationId));

/** A longer request line is refused before anyone reads its parameters. */
const HEAD_BYTES_MAX = 15_000;

/**
 * Of the second one's items each is named, also where there are too many; and the body is no part of itself.
 */
const isCompared = ({ pointer, keyword }: Wrong): boolean => pointer !== '' && keyword !== 'maxItems';

/** Sends each of them, one after the other. */
export async function sendWrongRequests(peer: Peer): Promise<void> {
  for (const { operationId, schema } of bodies) {
    const usual = JSON.parse(String(buildCall(operationId, SECRETS).body));
    for (const wrong of breakSchema(schema, '').filter(isCompared)) {
      const label = `${operationId} with ${wrong.pointer} ${wrong.keyword} ${wrong.json?.slice(0, 20)}`;
      await sendText(peer, operationId, label, putWrong(usual, wrong));
    }
  }
  await sendWrongBodies(peer);
  await sendWrongParameters(peer);
  await sendWrongSecrets(peer);
  await sendWrongPaths(peer);
}

async function sendText(
  peer: Peer,
  operationId: OperationId,
  label: string,
  text: string | Uint8Array<ArrayBuffer>,
): Promise<void> {
  const { method, path } = buildCall(operationId, SECRETS);
  await peer.send(label, method, path, { text, headers: { 'content-type': 'application/json' } });
}

async function sendWrongBodies(peer: Peer): Promise<void> {
  const encode = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);
  for (const { operationId } of bodies) {
    const usual = String(buildCall(operationId, SECRETS).body);
    await sendText(peer, operationId, `${operationId} cut`, usual.slice(0, -1));
    await sendText(peer, operationId, `${operationId} without body`, '');
    for (const body of ['[]', 'null', '"text"', '{}', '1'])
      await sendText(peer, operationId, `${operationId} of ${body}`, body);
    await sendText(peer, operationId, `${operationId} with a byte-order mark`, encode(`\ufeff${usual}`));
    await sendText(
      peer,
      operationId,
      `${operationId} in Latin-1`,
      new Uint8Array([...encode('{"a":"'), 0xe9, ...encode('"}')]),
    );
    const deep = usual.replace(/^\{/, `{"x":${'['.repeat(100)}${']'.repeat(100)},`);
    await sendText(peer, operationId, `${operationId} 101 levels deep`, deep);
    const { method, path } = buildCall(operationId, SECRETS);
    const types = {
      none: {},
      form: { 'content-type': 'application/x-www-form-urlencoded' },
      page: { origin: 'http://localhost:1' },
      coded: { 'content-encoding': 'gzip' },
      identity: { 'content-encoding': 'identity' },
    };
    for (const [name, headers] of Object.entries(types)) {
      await peer.send(`${operationId} of type ${name}`, method, path, {
        text: '{',
        headers: { 'content-type': 'text/plain', ...headers },
      });
    }
  }
}

async function sendWrongParameters(peer: Peer): Promise<void> {
  for (const { operationId, parameters } of operations) {
    for (const { name, in: where, schema } of parameters) {
      if (where !== 'query') continue;
      const usual = buildCall(operationId, SECRETS);
      const broken = breakSchema(schema, `/${name}`).flatMap(({ json = '' }) => (json === '' ? [] : [json]));
      for (const json of [...broken, '""', '" 1"']) {
        const value: unknown = JSON.parse(json);
        const url = new URL(usual.path, 'http://a');
        url.searchParams.set(name, typeof value === 'string' && value.isWellFormed() ? value : json);
        if (url.search.length > HEAD_BYTES_MAX) continue;
        await peer.send(
          `${operationId} with ?${name}=${json.slice(0, 20)}`,
          usual.method,
          url.pathname + url.search,
          {
            ...usual,
          },
        );
      }
      const twice = `${usual.path}${usual.path.includes('?') ? '&' : '?'}${name}=1&${name}=1`;
      await peer.send(`${operationId} with ?${name} twice`, usual.method, twice, { ...usual });
    }
  }
}

async function sendWrongSecrets(peer: Peer): Promise<void> {
  for (const operationId of OPERATIONS) {
    const usual = buildCall(operationId, SECRETS);
    const url = new URL(usual.path, 'http://a');
    url.searchParams.delete('auth');
    const body = typeof usual.body === 'string' ? JSON.parse(usual.body) : undefined;
    delete body?.auth;
    // What each of them says of two secrets: sent twice, and a wrong one beside a right one.
    const right = `${url.pathname}?${url.search.slice(1)}&auth=${SECRETS.gateway}`;
    const also = body && { json: { ...body, auth: SECRETS.gateway, agent_id: undefined } };
    if (operationId !== 'subscribeEvents') {
      const headers = { 'x-admin-auth': 'wrong' };
      await peer.send(`${operationId} with a wrong second secret`, usual.method, right, { headers, ...also });
    }
    const twice = `${right}&auth=${SECRETS.gateway}`;
    await peer.send(`${operationId} with the secret twice`, usual.method, twice, { ...also });
    for (const place of ['nowhere', 'query', 'Bearer', 'body', 'X-Admin-Auth', 'both']) {
      for (const [kind, secret] of [
        ['wrong', 'wrong'],
        ['administrator', SECRETS.admin],
        ['gateway', SECRETS.gateway],
      ] as const) {
        if (operationId === 'subscribeEvents' && secret === SECRETS.gateway) continue;
        const path = `${url.pathname}?${place === 'query' || place === 'both' ? `${url.search.slice(1)}&auth=${secret}` : url.search.slice(1)}`;
        const headers = {
          ...(place === 'Bearer' && { authorization: `Bearer ${secret}` }),
          ...(place === 'X-Admin-Auth' && { 'x-admin-auth': secret }),
        };
        const json = body && {
          ...body,
          ...(place === 'body' && { auth: secret }),
          ...(place === 'both' && { auth: SECRETS.gateway }),
          agent_id: undefined,
        };
        await peer.send(`${operationId} with the ${kind} secret in ${place}`, usual.method, path, {
          headers,
          ...(json && { json }),
        });
      }
    }
  }
}

async function sendWrongPaths(peer: Peer): Promise<void> {
  const { method, path }: Call = buildCall('getTask', SECRETS);
  for (const other of [
    '/api',
    '/api/cli/tasks/',
    '/api/cli/tasks/x/y',
    '/api/agent',
    '/api/admin',
    '/API/cli/tasks',
  ]) {
    await peer.send(`GET ${other}`, method, other);
  }
  for (const operationId of OPERATIONS) {
    const { path: at } = buildCall(operationId, SECRETS);
    for (const wrong of ['DELETE', 'PUT', 'OPTIONS'])
      await peer.send(`${wrong} ${operationId}`, wrong, at.split('?')[0] ?? '');
  }
  await peer.send('HEAD getTask', 'HEAD', path);
}
