/**
 * The rows of the contract suite: for each operation and each documented status, the request that gets this
 * status from the real server. The mock gets the usual request and the status to respond with.
 */
import { adminRows } from './admin-rows.ts';
import { operationRows } from './operation-rows.ts';
import { outputRows } from './output-rows.ts';
import { questionRows } from './question-rows.ts';
import { addOrigin, code, fillBody, type Row, row, sendSlowly, spoil, usual } from './row.ts';
import { OPERATIONS, type OperationId } from './usual-calls.ts';

const WITH_BODY = OPERATIONS.filter((one) =>
  [
    'submitTask',
    'previewMatch',
    'claimTask',
    'heartbeatAgent',
    'registerAgent',
    'reportResult',
    'writeOutput',
    'answerTask',
    'claimAnswer',
    'unregisterAgent',
    'cancelTasks',
    'drainAgent',
  ].includes(one),
);
/** The overview says itself that the store does not reply. */
const WITHOUT_503: readonly OperationId[] = ['getOverview'];
const WITH_AGENT_ID_FIRST: readonly OperationId[] = [
  'claimTask',
  'heartbeatAgent',
  'reportResult',
  'writeOutput',
  'claimAnswer',
  'unregisterAgent',
];

/** A field of the body that can't be a number; `agent_id` where none is named. */
const WRONG_FIELDS: Partial<Record<OperationId, string>> = {
  submitTask: 'payload',
  previewMatch: 'task_tags',
  cancelTasks: 'request_ids',
  drainAgent: 'draining',
  answerTask: 'key',
};

/** What every operation, or every one with a body, has in common. */
const shared: readonly Row[] = [
  ...OPERATIONS.map((one) =>
    row(
      one,
      401,
      'the secret is wrong',
      (server) => {
        const inBody = ['heartbeatAgent', 'reportResult', 'unregisterAgent'].includes(one);
        return spoil(server.build(one, inBody ? { auth: server.secrets.gateway } : {}), server.secrets);
      },
      code('unauthorized'),
    ),
  ),
  ...OPERATIONS.flatMap((one) => [
    row(one, 403, 'a web page of another origin calls', (server) => addOrigin(server.build(one)), {
      server: 'local',
      ...code('origin_not_allowed'),
    }),
    row(one, 421, 'the gateway is called by a name that is not its own', usual(one), {
      server: 'misnamed',
      ...code('misdirected'),
    }),
    row(one, 500, 'the store fails unexpectedly', usual(one), { server: 'faulty', ...code('internal') }),
  ]),
  ...OPERATIONS.filter((one) => !WITHOUT_503.includes(one)).map((one) =>
    row(one, 503, 'the store does not reply', usual(one), {
      server: 'outOfOrder',
      ...code('store_unavailable'),
    }),
  ),
  ...WITH_BODY.map((one) =>
    row(one, 400, 'the body is not JSON', (server) => ({ ...server.build(one), body: '{"auth":' }), {
      ...code('malformed_body'),
      ...(WITH_AGENT_ID_FIRST.includes(one) && { serverOnly: 'needs to tell bodies apart' }),
    }),
  ),
  ...WITH_AGENT_ID_FIRST.map((one) =>
    row(
      one,
      400,
      'the body has no agent_id',
      (server) => server.build(one, { agent_id: undefined }),
      code('agent_id_missing'),
    ),
  ),
  ...WITH_BODY.map((one) =>
    row(
      one,
      413,
      'the body is too large',
      (server) => server.build(one, { more: 'x'.repeat(1024 * 1024) }),
      code('payload_too_large'),
    ),
  ),
  ...WITH_BODY.map((one) =>
    row(
      one,
      415,
      'the body is compressed',
      (server) => {
        const call = server.build(one);
        return { ...call, headers: { ...call.headers, 'content-encoding': 'gzip' } };
      },
      code('unsupported_media_type'),
    ),
  ),
  ...WITH_BODY.map((one) =>
    row(one, 408, 'the body does not arrive in time', (server) => sendSlowly(server.build(one)), {
      server: 'timeLimited',
      ...code('request_timeout'),
    }),
  ),
  row('writeOutput', 503, 'too much output is being stored', usual('writeOutput'), {
    server: 'busy',
    serverOnly: 'needs state',
    ...code('busy'),
  }),
  // A body of `writeOutput` is never large.
  ...WITH_BODY.filter((one) => one !== 'writeOutput').map((one) =>
    row(one, 503, 'there is no memory for its large body', (server) => fillBody(server.build(one)), {
      server: 'busy',
      serverOnly: 'needs state',
      ...code('busy'),
    }),
  ),
  row(
    'cancelTask',
    503,
    'there is too much to do',
    (server) => server.build('cancelTask', {}, server.waitingId),
    {
      server: 'busy',
      serverOnly: 'needs state',
      ...code('busy'),
    },
  ),
  ...WITH_BODY.map((one) =>
    row(
      one,
      422,
      'a field has a wrong type',
      (server) => server.build(one, { [WRONG_FIELDS[one] ?? 'agent_id']: 1 }),
      code('validation_failed'),
    ),
  ),
];

/** What each operation has of its own. */

export const rows: readonly Row[] = [
  ...operationRows,
  ...outputRows,
  ...questionRows,
  ...adminRows,
  ...shared,
];
