/**
 * The negative controls of the guide's introduction and of its sections "What to do with an error", "What is
 * guaranteed" and "Versions" (L1).
 */
import type { Control } from './controls.ts';
import type { Fields } from './findings.ts';
import {
  changeBodies,
  changeCode,
  changeEvents,
  changeHeaders,
  changeOutcomes,
  changePushHeader,
  changeRequests,
  changeResponses,
  changeTasks,
  takeRefused,
} from './planted-faults.ts';

const SUBMIT = /^POST \/api\/cli\/tasks$/;
const GET = /^GET \/api\/cli\/tasks\/[^/]+$/;
const EVENTS = /^GET \/api\/cli\/events$/;
const REGISTER = /\/register$/;
const REPORT = /\/result$/;
const HEARTBEAT = /\/heartbeat$/;
const CLAIM = /\/claim$/;

const failed = (one: Fields): boolean => one.status === 'failed';

/** The controls, by the requirement whose check must find the fault. */
export const PROMISE_CONTROLS: Readonly<Record<string, Control>> = {
  'introduction.accepts-tasks-from-clients': {
    fault: 'A result comes back without its `output`.',
    plant: changeTasks((task) => (task.result ? { ...task, result: {} } : task)),
  },
  'introduction.a-client-submits-a': {
    fault: 'The event of a failure says `success`.',
    plant: changeEvents((event) => (failed(event) ? { ...event, status: 'success' } : event)),
  },
  'introduction.an-agent-registers-its': {
    fault: 'A claim returns another task.',
    plant: changeResponses(CLAIM, (answer) => ({ ...answer, status: 200, body: '{"request_id":"x"}' })),
  },
  'introduction.a-task-that-fails': {
    fault: 'A task that failed is read with 500.',
    plant: changeResponses(GET, (answer) =>
      answer.body.includes('Division by zero') ? { ...answer, status: 500 } : answer,
    ),
  },
  'introduction.every-http-error-is': {
    fault: 'A problem is sent as application/json.',
    plant: changeHeaders(/^DELETE/, 'content-type', () => 'application/json'),
  },
  'introduction.bodies-are-json-in': {
    fault: 'Texts lose what is not ASCII.',
    plant: changeOutcomes((one) => JSON.parse(JSON.stringify(one).replaceAll(/[^ -~]/g, '?'))),
  },
  'errors.busy-too-many-streams': {
    fault: '429 has no `Retry-After`.',
    plant: changeHeaders(EVENTS, 'retry-after', () => ''),
  },
  'errors.store-unavailable-internal-no': {
    fault: 'A report that is repeated is refused.',
    plant: changeResponses(REPORT, (answer) =>
      answer.body.includes('"accepted":false') ? { ...answer, status: 409 } : answer,
    ),
  },
  'errors.agent-not-found-after': {
    fault: 'An unknown agent has another code.',
    plant: changeCode(HEARTBEAT, 'agent_not_found', 'not_found'),
  },
  'errors.unauthorized-origin-not-allowed': {
    fault: 'A wrong secret has another code.',
    plant: changeCode(GET, 'unauthorized', 'forbidden'),
  },
  'errors.validation-failed-malformed-body': {
    fault: 'A coded body is a 400.',
    plant: changeResponses(SUBMIT, (answer) => (answer.status === 415 ? { ...answer, status: 400 } : answer)),
  },
  'errors.idempotency-conflict-no-use': {
    fault: 'A key with other content is taken.',
    plant: takeRefused(SUBMIT, 422),
  },
  'errors.task-not-found-agent': {
    fault: 'A report of another agent has another code.',
    plant: changeCode(REPORT, 'agent_mismatch', 'forbidden'),
  },
  'errors.route-not-found-method': {
    fault: 'A path that is not there has another code.',
    plant: changeCode(/^GET \/kit-/, 'route_not_found', 'not_found'),
  },
  'errors.an-agent-whose-result': {
    fault: 'A result that is a text is taken.',
    plant: takeRefused(REPORT, 422, /"result":"text"/),
  },
  'errors.a-hint-and-its': {
    fault: 'A hint has no remedies.',
    plant: changeBodies(/\/match$/, (match) => ({ ...match, remedies: [] })),
  },
  'errors.each-operation-lists-those': {
    fault: 'The document lacks a code.',
    plant: changeResponses(/openapi\.json$/, (answer) => ({
      ...answer,
      body: answer.body.replaceAll('"agent_mismatch"', '"mismatch"'),
    })),
  },
  'errors.steps-1-and-3': {
    fault: 'The problem of a 405 has another title.',
    plant: changeResponses(/^DELETE/, (answer) => ({
      ...answer,
      body: answer.body.replace('Method not allowed', 'Not allowed'),
    })),
  },
  'errors.the-title-of-route': {
    fault: 'The problem of a 404 has another title.',
    plant: changeResponses(/^GET \/kit-/, (answer) => ({
      ...answer,
      body: answer.body.replace('Path not found', 'Not found'),
    })),
  },
  'guarantees.one-end-a-task': {
    fault: 'Each event is sent twice.',
    plant: changeEvents((event) => [event, event]),
  },
  'guarantees.order-the-events-of': {
    fault: 'Two events change places.',
    plant: (send) => {
      let early: Fields | undefined;
      return changeEvents((event) => {
        const [first] = early ? [early] : [];
        early = first ? undefined : event;
        return first ? [event, first] : [];
      })(send);
    },
  },
  'guarantees.when-an-event-a': {
    fault: 'The first reading of a task that was cancelled shows it as pending.',
    plant: (send) => {
      const seen = new Set<unknown>();
      return changeBodies(GET, (task) => {
        const isLate = task.error_info === 'cancelled by user' && !seen.has(task.request_id);
        seen.add(task.request_id);
        return isLate ? { ...task, status: 'pending' } : task;
      })(send);
    },
  },
  'guarantees.delivery-to-agents-is': {
    fault: '`webhook-id` is another one than the task’s.',
    plantInPushes: changePushHeader('webhook-id', (value) => `push-${value}`),
  },
  'guarantees.a-second-agent-gets': {
    fault: 'An agent that registers without naming its task keeps it.',
    plant: changeRequests(REGISTER, ({ request_ids: _, ...body }) => body),
  },
  'guarantees.if-both-report-an': {
    fault: 'Of two results the last counts.',
    plant: changeResponses(GET, (answer) => ({
      ...answer,
      body: answer.body.replace('"the first"', '"the second"'),
    })),
  },
  'versions.the-version-is-that': {
    fault: 'The document has another version.',
    plant: changeBodies(/openapi\.json$/, (document) => ({ ...document, info: { version: '1.0.0' } })),
  },
};
