/**
 * A second gateway, written from the published documents alone, to find out what they leave unsaid. It keeps
 * everything in memory, and serves what needs no setting: no CORS, no metrics, no limits of the whole.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AGENT_OPERATIONS } from './agent-operations.ts';
import { escapeName, listPlaces, type Operation, readContract } from './document.ts';
import { OUTPUT_OPERATIONS } from './output-operations.ts';
import { findWrongSchema, QUESTION_OPERATIONS } from './question-operations.ts';
import { type Call, Refusal, type Reply } from './request.ts';
import { State } from './state.ts';
import { TASK_OPERATIONS } from './task-operations.ts';

const STATUSES: Readonly<Record<string, number>> = {
  malformed_body: 400,
  agent_id_missing: 400,
  agent_mismatch: 400,
  task_terminal: 400,
  not_asked: 400,
  unauthorized: 401,
  task_not_found: 404,
  agent_not_found: 404,
  route_not_found: 404,
  method_not_allowed: 405,
  payload_too_large: 413,
  unsupported_media_type: 415,
  validation_failed: 422,
  idempotency_conflict: 422,
  not_served: 501,
};
type Serve = (call: Call) => Reply | Promise<Reply>;

/** The operations that it has. */
export const SERVED: Readonly<Record<string, Serve>> = {
  ...TASK_OPERATIONS,
  ...AGENT_OPERATIONS,
  ...OUTPUT_OPERATIONS,
  ...QUESTION_OPERATIONS,
};

const BODY_BYTES_MAX = 4 * 1_048_576;
const AGENT_ID_FIRST = [
  'heartbeatAgent',
  'reportResult',
  'claimTask',
  'unregisterAgent',
  'writeOutput',
  'claimAnswer',
];

type Deps = {
  readonly secrets: { readonly gateway: string; readonly admin: string };
  readonly operations: readonly Operation[];
  readonly state: State;
};

/** Starts it on a free port. */
export async function startSecondGateway(secrets: Deps['secrets']) {
  const { version, operations } = readContract();
  const state = new State();
  const server = createServer((req, res) => {
    res.setHeaders(
      new Map([
        ...[['task-gateway-version', version] as const, ['cache-control', 'no-store'] as const],
        ...[['referrer-policy', 'no-referrer'] as const, ['x-content-type-options', 'nosniff'] as const],
      ]),
    );
    serve({ secrets, operations, state }, req, res).catch((error: unknown) => refuse(res, error));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop(): Promise<void> {
      state.stop();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function refuse(res: ServerResponse, error: unknown): void {
  if (!(error instanceof Refusal)) throw error;
  const { code, headers, pointers } = error;
  const status = STATUSES[code] ?? 500;
  const errors = pointers && { errors: pointers.map((pointer) => ({ pointer, detail: 'is wrong' })) };
  const challenge = status === 401 && { 'www-authenticate': 'Bearer' };
  res.writeHead(status, { 'content-type': 'application/problem+json', ...challenge, ...headers });
  const type = `urn:task-gateway:problem:${code}`;
  res.end(JSON.stringify({ type, title: code, status, detail: code, code, ...errors }));
}

/** The checks in their order, then the operation. */
async function serve(deps: Deps, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const url = new URL(req.url ?? '/', 'http://gateway');
  const here = deps.operations.filter(({ pattern }) => pattern.test(url.pathname));
  if (here.length === 0) throw new Refusal('route_not_found');
  const methods = here.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  const allow = { allow: [...methods, 'OPTIONS'].join(', ') };
  if (req.method === 'OPTIONS') return void res.writeHead(204, allow).end();
  const operation = here.find(({ method }) => method === (req.method === 'HEAD' ? 'GET' : req.method));
  if (!operation) throw new Refusal('method_not_allowed', { headers: allow });
  const isSecretSent = requireSecrets(deps, operation, url.searchParams, req);
  const body = operation.hasBody ? parseBody(req, await readBody(req)) : undefined;
  const isObject = typeof body === 'object' && body !== null && !Array.isArray(body);
  const fields: Readonly<Record<string, unknown>> = isObject ? { ...body } : {};
  if (typeof fields.auth === 'string' && fields.auth !== deps.secrets.gateway)
    throw new Refusal('unauthorized');
  if (AGENT_ID_FIRST.includes(operation.operationId) && isObject && fields.agent_id === undefined) {
    throw new Refusal('agent_id_missing');
  }
  const deep = findDeep(body);
  if (deep !== undefined) throw new Refusal('validation_failed', { pointers: [deep] });
  const header = (name: string) => req.headers[name.toLowerCase()]?.toString();
  const wrong = [...operation.findWrong(body, url.searchParams, header)];
  const wrongValue = findWrongValue(operation.operationId, fields, url.searchParams);
  if (wrongValue !== undefined && !wrong.includes(wrongValue)) wrong.push(wrongValue);
  if (operation.operationId === 'writeOutput') wrong.push(...findWrongPieces(fields.pieces, wrong));
  if (wrong.length > 0) throw new Refusal('validation_failed', { pointers: listPlaces(wrong) });
  const call: Call = {
    state: deps.state,
    query: url.searchParams,
    header,
    res,
    body: fields,
    id: decodeURIComponent(operation.pattern.exec(url.pathname)?.[1] ?? ''),
    isTrusted: fields.auth !== undefined || isSecretSent,
  };
  const operate = SERVED[operation.operationId];
  if (!operate) throw new Refusal('not_served');
  const reply = await operate(call);
  if (reply === null) res.writeHead(204).end();
  else if (reply) {
    // A page has an ETag: it may be kept, and is asked for again.
    if (operation.operationId === 'listTasks' || call.query.has('limit'))
      res.setHeader('cache-control', 'no-cache');
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(reply));
  }
}

/** Returns whether the gateway's secret is in the query or in a header, where it may be. */
function requireSecrets(
  { secrets }: Deps,
  { secrets: names, isSecretOptional }: Operation,
  query: URLSearchParams,
  { headers }: IncomingMessage,
): boolean {
  const isAdmin = names.includes('AdminAuth') && headers['x-admin-auth'] === secrets.admin;
  if (!names.includes('QueryAuth')) {
    if (!isAdmin) throw new Refusal('unauthorized');
    return false;
  }
  const bearer = /^bearer +(.*)$/i.exec(headers.authorization ?? '')?.[1];
  const given = query.has('auth') ? query.getAll('auth') : bearer === undefined ? [] : [bearer];
  if (given.some((one) => one !== secrets.gateway) || given.length > 1) throw new Refusal('unauthorized');
  if (given.length === 0 && !isAdmin && !isSecretOptional) throw new Refusal('unauthorized');
  return given.length > 0;
}

async function readBody(req: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of req) {
    bytes += part.length;
    if (bytes <= BODY_BYTES_MAX) parts.push(part);
  }
  if (bytes > BODY_BYTES_MAX) throw new Refusal('payload_too_large');
  return Buffer.concat(parts);
}

function parseBody(req: IncomingMessage, bytes: Buffer): unknown {
  const coding = req.headers['content-encoding'] ?? 'identity';
  const isJson = /^application\/json *(;|$)/i.test(req.headers['content-type'] ?? '');
  if (coding !== 'identity' || (req.headers.origin !== undefined && !isJson))
    throw new Refusal('unsupported_media_type');
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    throw new Refusal('malformed_body');
  }
}

/** The first value that is nested too deep, as a pointer. */
function findDeep(value: unknown, pointer = '', depth = 1): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth > 100) return pointer;
  for (const [key, inner] of Object.entries(value)) {
    const found = findDeep(inner, `${pointer}/${escapeName(key)}`, depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The pieces that have not one of text, data and question, and what is wrong in the schemas of questions. */
function findWrongPieces(pieces: unknown, wrong: readonly string[]): readonly string[] {
  const all: readonly unknown[] = Array.isArray(pieces) && !wrong.includes('/pieces') ? pieces : [];
  return all.flatMap((piece, index) => {
    const isObject = typeof piece === 'object' && piece !== null && !Array.isArray(piece);
    if (!isObject) return [];
    const keys = ['text', 'data', 'question'].filter((key) => Object.hasOwn(piece, key));
    if (keys.length !== 1) return [`/pieces/${index}`];
    const { question } = piece as { readonly question?: { readonly schema?: unknown } | null };
    return findWrongSchema(question?.schema).map((one) => `/pieces/${index}/question/schema${one}`);
  });
}

/** What is wrong beside the schema: an endpoint that is no URL, a cursor that no page had. */
function findWrongValue(
  operationId: string,
  { endpoint }: Readonly<Record<string, unknown>>,
  query: URLSearchParams,
): string | undefined {
  if (operationId === 'listTasks' || operationId === 'listAgents') {
    if (!/^(\d+|)$/.test(query.get('cursor') ?? '')) return '/cursor';
    const isWhole = operationId === 'listAgents' && !query.has('limit');
    return isWhole && query.get('cursor') && query.getAll('cursor').length === 1 ? '/limit' : undefined;
  }
  if (
    operationId !== 'registerAgent' ||
    typeof endpoint !== 'string' ||
    endpoint === '' ||
    endpoint === 'pull'
  )
    return undefined;
  const url = URL.parse(endpoint);
  return url && /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
    ? undefined
    : '/endpoint';
}
