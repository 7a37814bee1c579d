/**
 * Whether a peer speaks the contract: one row per operation and documented status. Run once on a mock that
 * knows the document alone and once on the real server; every answer, errors and streams included, is checked
 * against the document. A status without a row fails, and so does a row without a documented status.
 */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { type Answer, createDocumentCheck } from './document-check.ts';
import { type Mock, openMock, openRealServer, type RealServer } from './peers.ts';
import { type Row, rows } from './rows.ts';
import { buildCall, type Call, send } from './usual-calls.ts';

declare module 'vitest' {
  interface ProvidedContext {
    contractPeer: 'mock' | 'server';
  }
}

const peer = inject('contractPeer');
const check = createDocumentCheck();
const asked = rows.filter((row) => peer === 'server' || row.serverOnly === undefined);
const name = ({
  operationId,
  status,
}: Pick<Row, 'operationId' | 'status'> | { operationId: string; status: number }) =>
  `${operationId} ${status}`;

let ask: (row: Row) => Promise<Answer>;
let stop: () => Promise<void>;

beforeAll(async () => {
  if (peer === 'mock') {
    const mock = await openMock();
    ask = (row) => askMock(mock, row);
    stop = mock.stop;
  } else {
    const server = await openRealServer();
    ask = (row) => askServer(server, row);
    stop = server.stop;
  }
});

afterAll(() => stop());

async function askMock({ url }: Mock, { operationId, status }: Row): Promise<Answer> {
  const call: Call = buildCall(operationId, { gateway: 'any', admin: 'any' });
  const answer = await send(url, { ...call, headers: { ...call.headers, prefer: `code=${status}` } });
  // What the mock thinks of its own answer; here another judges.
  answer.headers.delete('sl-violations');
  return answer;
}

async function askServer(server: RealServer, row: Row): Promise<Answer> {
  const url = row.server === undefined ? server.url : server[row.server];
  return await send(url, await row.prepare(server));
}

describe(`the contract on the ${peer}`, () => {
  test('every documented answer has a row here, and every row is documented', () => {
    const documented = check.documented.map(name).sort();
    expect([...new Set(asked.map(name))].sort()).toEqual(documented);
  });

  test.each(asked)('$operationId answers $status when $when', async (row) => {
    const answer = await ask(row);
    expect(check.findDeviations(answer)).toEqual([]);
    expect(answer.status).toBe(row.status);
    if (row.expect && peer === 'server') expect(JSON.parse(answer.text)).toMatchObject(row.expect);
  });
});
