/** The negative controls of the guide's other sections (L1); `controls.ts` has those of the specification. */
import type { Control } from './controls.ts';
import {
  changeBodies,
  changeCode,
  changeHeaders,
  changeRequests,
  changeResponses,
  refuseRequests,
  takeRefused,
} from './planted-faults.ts';

const SUBMIT = /^POST \/api\/cli\/tasks$/;
const GET = /^GET \/api\/cli\/tasks\/[^/]+$/;
const CANCEL = /^POST \/api\/cli\/.*\/cancel$/;
const REPORT = /\/result$/;
const HEARTBEAT = /\/heartbeat$/;

/** The controls, by the requirement whose check must find the fault. */
export const GUIDE_CONTROLS: Readonly<Record<string, Control>> = {
  'order.the-first-that-fails': {
    fault: 'The body is looked at before the secret.',
    plant: changeResponses(SUBMIT, (answer, sent) =>
      sent === '{' ? { ...answer, status: 400, body: '{"status":400,"code":"malformed_body"}' } : answer,
    ),
  },
  'order.bytes-that-are-no': {
    fault: 'Headers of any size are taken.',
    plant: changeResponses(/./, (answer) => (answer.status === 431 ? { ...answer, status: 200 } : answer)),
  },
  'order.the-documents-livez-and': {
    fault: 'A foreign origin is refused on `/livez`.',
    plant: refuseRequests(
      (_call, url, { headers }) => url.endsWith('/livez') && headers.origin !== undefined,
      403,
      'origin_not_allowed',
    ),
  },
  'order.the-path-404-route': {
    fault: '405 has no `Allow`.',
    plant: changeHeaders(/^DELETE/, 'allow', () => ''),
  },
  'order.the-secret-in-query': {
    fault: 'A wrong secret in the query has another code.',
    plant: changeCode(/^GET .*-unknown$/, 'unauthorized', 'forbidden'),
  },
  'order.the-body-413-payload': {
    fault: 'A large body is a 422.',
    plant: changeResponses(SUBMIT, (answer) => (answer.status === 413 ? { ...answer, status: 422 } : answer)),
  },
  'order.the-secret-in-the': {
    fault: 'The schemas are looked at before the secret in the body.',
    plant: changeResponses(SUBMIT, (answer, sent) =>
      answer.status === 401 && sent.includes('"task_tags":1')
        ? { ...answer, status: 422, body: '{"status":422,"code":"validation_failed","errors":[]}' }
        : answer,
    ),
  },
  'order.where-none-is-needed': {
    fault: 'A foreign page is served without a secret.',
    plant: changeResponses(HEARTBEAT, (answer) =>
      answer.status === 403
        ? { ...answer, status: 404, body: '{"status":404,"code":"agent_not_found"}' }
        : answer,
    ),
  },
  'order.agent-id-is-missing': {
    fault: 'A missing `agent_id` of a write is a 422.',
    plant: changeResponses(/\/output$/, (answer) =>
      answer.status === 400 ? { ...answer, status: 422 } : answer,
    ),
  },
  'order.a-body-that-is': {
    fault: 'A list instead of a body is a 400.',
    plant: changeResponses(REPORT, (answer, sent) => (sent === '[]' ? { ...answer, status: 400 } : answer)),
  },
  'order.the-limits-of-json': {
    fault: 'One error is named of several.',
    plant: changeResponses(SUBMIT, (answer) => {
      if (answer.status !== 422) return answer;
      const body = JSON.parse(answer.body);
      return { ...answer, body: JSON.stringify({ ...body, errors: body.errors?.slice(0, 1) }) };
    }),
  },
  'order.the-state-404-400': {
    fault: 'A key with other content is taken.',
    plant: changeResponses(SUBMIT, (answer) =>
      answer.body.includes('idempotency_conflict') ? { ...answer, status: 200 } : answer,
    ),
  },
  'order.nothing-is-coerced-60': {
    fault: '"60" is taken for a number.',
    plant: takeRefused(SUBMIT, 422, /"timeout":"60"/),
  },
  'order.in-the-query-a': {
    fault: 'A blank before a number is ignored.',
    plant: (send) => (url, init) => send(url.replace('wait=+1', 'wait=1'), init),
  },
  'order.unknown-fields-and-parameters': {
    fault: 'A misspelt filter is ignored.',
    plant: takeRefused(/admin\/tasks\/cancel$/, 422),
  },
  'secrets.submittask-registeragent-claimtask-writeoutput': {
    fault: 'A write takes the secret in the query alone.',
    plant: takeRefused(/\/output$/, 422),
  },
  'secrets.gettask-explaintask-readoutput-required': {
    fault: 'An output is read without a secret.',
    plant: takeRefused(/\/output$/, 401),
  },
  'secrets.previewmatch-required-or-the': {
    fault: 'A preview needs no secret.',
    plant: takeRefused(/\/match$/, 422),
  },
  'secrets.canceltask-subscribeevents-answertask-required': {
    fault: 'A cancel takes the administrator’s secret.',
    plant: (send) => (url, init) =>
      init.headers['x-admin-auth'] !== undefined && CANCEL.test(`${init.method} ${new URL(url).pathname}`)
        ? Promise.resolve(Response.json({ ok: true }))
        : send(url, init),
  },
  'secrets.heartbeatagent-reportresult-unregisteragent-optional': {
    fault: 'A wrong secret of a heartbeat is ignored.',
    plant: takeRefused(HEARTBEAT, 401),
  },
  'secrets.listagents-listtasks-getoverview-canceltasks': {
    fault: 'The overview needs no secret.',
    plant: takeRefused(/^GET \/api\/admin\/overview$/, 401),
  },
  'secrets.if-the-body-and': {
    fault: 'The right secret in the body is enough.',
    plant: changeResponses(SUBMIT, (answer, sent) =>
      answer.status === 401 && sent.includes('a-gateway-secret') ? { ...answer, status: 200 } : answer,
    ),
  },
  'secrets.the-authorization-header-is': {
    fault: 'The secret without `Bearer` is taken.',
    plant: (send) => (url, init) => {
      const { authorization = '' } = init.headers;
      const isBare = authorization !== '' && !authorization.startsWith('Bearer ');
      const headers = isBare ? { ...init.headers, authorization: `Bearer ${authorization}` } : init.headers;
      return send(url, { ...init, headers });
    },
  },
  'secrets.a-wrong-x-admin': {
    fault: 'A wrong X-Admin-Auth is refused beside a right secret.',
    plant: refuseRequests(
      (call, url, { headers }) => GET.test(call) && url.includes('auth=') && 'x-admin-auth' in headers,
      401,
      'unauthorized',
    ),
  },
  'secrets.without-a-secret-a': {
    fault: 'A heartbeat needs no secret to say `draining`.',
    plant: changeRequests(HEARTBEAT, (body) => ({ auth: 'a-gateway-secret-for-tests', ...body })),
  },
  'paths.openapi-json-openapi-yaml': {
    fault: 'The document in YAML is JSON.',
    plant: changeResponses(/\.yaml$/, (answer) => ({ ...answer, body: '{"openapi":"3.1.0"}' })),
  },
  'paths.openapi-3-2-json': {
    fault: '`/openapi.3.2.json` says OpenAPI 3.1.',
    plant: changeResponses(/3\.2\.json$/, (answer) => ({
      ...answer,
      body: answer.body.replace(/"openapi":\s*"3\.2/, '"openapi":"3.1'),
    })),
  },
  'paths.openapi-admin-json-what': {
    fault: 'The administrator’s document lacks a path.',
    plant: changeResponses(/admin\.json$/, (answer) => ({
      ...answer,
      body: answer.body.replace('"/api/admin/tasks"', '"/api/admin/jobs"'),
    })),
  },
  'paths.openapi-agent-json-what': {
    fault: 'The agent’s document has another path.',
    plant: changeResponses(/agent\.json$/, (answer) => ({
      ...answer,
      body: '{"openapi":"3.1.0","paths":{}}',
    })),
  },
  'paths.200-name-task-gateway': {
    fault: '`/` lacks the documents.',
    plant: changeBodies(/^GET \/$/, ({ documents: _, ...body }) => body),
  },
  'paths.livez-200-status-ok': {
    fault: '`/livez` is another text.',
    plant: changeBodies(/livez$/, () => ({ status: 'alive' })),
  },
  'paths.readyz-200-status-ok': {
    fault: '`/readyz` is another text.',
    plant: changeBodies(/readyz$/, () => ({ status: 'ready' })),
  },
  'paths.they-need-no-secret': {
    fault: 'Pages may not read `/readyz`.',
    plant: changeHeaders(/readyz$/, 'access-control-allow-origin', () => ''),
  },
  'paths.the-documents-and-docs': {
    fault: '`If-None-Match: *` is ignored.',
    plant: (send) => (url, init) =>
      send(url, init.headers['if-none-match'] === '*' ? { ...init, headers: {} } : init),
  },
  'paths.docs-shows-openapi-3': {
    fault: '`/docs` is sent as text.',
    plant: changeHeaders(/^GET \/docs$/, 'content-type', () => 'text/plain'),
  },
  'paths.metrics-serves-prometheus-it': {
    fault: 'The metrics are JSON.',
    plant: changeResponses(/metrics$/, (answer) =>
      answer.status === 200 ? { ...answer, body: '{}' } : answer,
    ),
  },
  'paths.every-path-that-serves': {
    fault: 'HEAD has another `Content-Type`.',
    plant: changeHeaders(/^HEAD/, 'content-type', () => 'text/plain'),
  },
  'paths.every-response-has-task': {
    fault: 'A 404 has no `Cache-Control`.',
    plant: changeResponses(/./, (answer) => {
      const { 'cache-control': _, ...headers } = answer.headers;
      return answer.status === 404 ? { ...answer, headers } : answer;
    }),
  },
};
