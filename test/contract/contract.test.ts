/**
 * Whether a peer follows the contract: one row for each operation and documented status, run on a mock that
 * knows the document alone and on the real server. Every response, errors and streams included, is checked
 * against the document. A status without a row fails, and so does a row without a documented status.
 */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { type Prism, startPrism } from '../harness/prism.ts';
import { createDocumentCheck, type ReceivedResponse } from './document-check.ts';
import { openRealServer, type RealServer } from './peers.ts';
import type { Row } from './row.ts';
import { rows } from './rows.ts';
import { buildCall, type Call, send } from './usual-calls.ts';

declare module 'vitest' {
  interface ProvidedContext {
    contractPeer: 'mock' | 'server';
  }
}

const peer = inject('contractPeer');
const check = createDocumentCheck();
const tried = rows.filter((row) => peer === 'server' || row.serverOnly === undefined);
type Documented = { readonly operationId: string; readonly status: number };
const name = ({ operationId, status }: Documented) => `${operationId} ${status}`;

let call: (row: Row) => Promise<ReceivedResponse>;
let stop: () => Promise<void>;

beforeAll(async () => {
  if (peer === 'mock') {
    const mock = await startPrism(['--cors', 'false']);
    call = (row) => callMock(mock, row);
    stop = mock.stop;
  } else {
    const server = await openRealServer();
    call = (row) => callServer(server, row);
    stop = server.stop;
  }
});

afterAll(() => stop());

async function callMock({ url }: Prism, { operationId, status }: Row): Promise<ReceivedResponse> {
  const usual: Call = buildCall(operationId, { gateway: 'any', admin: 'any' });
  // The mock ends idle connections after five seconds, also while a request is on its way.
  const headers = { ...usual.headers, prefer: `code=${status}`, connection: 'close' };
  const response = await send(url, { ...usual, headers });
  // The mock's own check of its response; this suite has its own.
  response.headers.delete('sl-violations');
  return response;
}

async function callServer(server: RealServer, row: Row): Promise<ReceivedResponse> {
  const url = row.server === undefined ? server.url : server[row.server];
  return await send(url, await row.prepare(server));
}

describe(`the contract on the ${peer}`, () => {
  test('every documented response has a row here, and every row is documented', () => {
    const documented = check.documented.map(name).sort();
    expect([...new Set(tried.map(name))].sort()).toEqual(documented);
  });

  if (peer === 'server')
    test('every documented code has a row, and every error row is one of them', () => {
      const documented = check.documented.flatMap((one) => one.codes.map((code) => `${name(one)} ${code}`));
      const carriedOut = rows.flatMap((row) =>
        row.status >= 400 ? [`${name(row)} ${row.expect?.code}`] : [],
      );
      expect(documented.length).toBeGreaterThan(check.documented.length / 2);
      expect([...new Set(carriedOut)].sort()).toEqual(documented.sort());
    });

  test.each(tried)('$operationId responds $status when $when', async (row) => {
    const response = await call(row);
    expect(check.findDeviations(response)).toEqual([]);
    expect(response.status).toBe(row.status);
    if (row.expect && peer === 'server') expect(JSON.parse(response.text)).toMatchObject(row.expect);
  });
});
