/** Which test holds each statement about an operation, as `tests-of-guide.ts` says it for the guide. */
import { ADVICE, type StatementTests } from './tests-of-guide.ts';

const DELIVERY = 'gateway/delivery.test.ts: ';
const AGENTS = 'gateway/agents.test.ts: ';
const REPORTS = 'gateway/reports.test.ts: ';
const ROWS = 'gateway/task-rows.test.ts: ';
const OVERVIEW = 'gateway/overview.test.ts: ';
const EXPLANATIONS = 'gateway/explanations.test.ts: ';
const PREVIEWS = 'gateway/previews.test.ts: ';
const SECRETS = 'http/guide.test.ts: of $operations';
const CONTRACT = 'contract/contract.test.ts: $operationId responds $status when $when';
const REPEATED = `${AGENTS}a repeated submission under one key returns the first response`;
const UNKNOWN_OUTCOME = 'resilience/lost-results.test.ts: runs lose no result and get none twice';
const MANY = `${ROWS}a count says that it is at least so many, and a page that it goes on`;
const KEPT = 'engines/retention.suite.ts: is kept for its time and then removed, with its input, its event';
const FEEDS = 'engines/feeds.suite.ts: ';

const CLIENTS: StatementTests = {
  previewMatch: [
    ['Returns which agents', `${PREVIEWS}names the nearest agents and what keeps each`],
    ["The administrator's secret", SECRETS],
  ],
  submitTask: [
    [
      'Submits a task and returns',
      'gateway/acknowledgements.test.ts: is answered as pending, and is running from the same commit on',
    ],
    [
      'Matching follows',
      'gateway/acknowledgements.test.ts: is answered as pending, and is running from the same commit on',
    ],
    [
      "The task's event is stored",
      `${FEEDS}yields stored events in the order of their commits, then live ones`,
    ],
    ['A repeat with the same', REPEATED],
    ['Without the header', 'differential/differential.test.ts: the second gateway and ours are the same'],
    ['On 503 `busy` retry', 'sdk/retries.test.ts: $code: the call is repeated as it is: $again'],
    ['On 503 `store_unavailable`', UNKNOWN_OUTCOME],
  ],
  getTask: [
    ['Returns a task', CONTRACT],
    ['With `wait` the response', `${AGENTS}a waiting getTask returns when the task settles`],
    ['Safe to repeat', 'sdk/retries.test.ts: after a timeout; each attempt has its own'],
    ['A task is kept for 24', KEPT],
    ["The administrator's secret", SECRETS],
  ],
  cancelTask: [
    ['Cancels a pending or running', 'contract/guide-tasks.test.ts: $From: $Cause'],
    ['No body is needed', 'http/body.test.ts: of a cancel is ignored'],
    ['The agent finds the task', 'contract/guide-tasks.test.ts: $From: $Cause'],
    ['A terminal task is not', 'contract/guide-tasks.test.ts: $From: $Cause'],
  ],
  explainTask: [
    ['Explains a task', `${EXPLANATIONS}$name`],
    ['It changes nothing', 'http/secrets.test.ts: a read of a task with %j and %j gets %d'],
    ["The administrator's secret", SECRETS],
  ],
  subscribeEvents: [
    ['Streams the `task_done`', `${FEEDS}yields stored events in the order of their commits, then live ones`],
    ['The stream stays open', 'http/sse.test.ts: one timer pings every stream every 15 seconds'],
    [
      'A reader that comes late',
      `${FEEDS}yields stored events in the order of their commits, then live ones`,
    ],
    ['Events are kept for 24', KEPT],
    [
      'The response is never cached',
      'http/response-bytes.test.ts: the bytes of a response are those that stand here',
    ],
    ['After a disconnect', `${FEEDS}continues after a cursor that is stored in the session`],
    [
      'With an id unknown',
      `${FEEDS}yields every event, without a gap, to a reader whose cursor %j is not stored`,
    ],
    [
      'A reader that reads nothing',
      'http/slow-readers.test.ts: a reader that takes nothing for 30 seconds is disconnected',
    ],
    ['If the stream is unavailable', ADVICE],
  ],
};

const AGENT_CALLS: StatementTests = {
  claimTask: [
    [
      'Returns the next task',
      'gateway/pull-agents.test.ts: claims its oldest task once, and again after 15 s without acknowledgement',
    ],
    [
      'Delivery is at least once',
      'gateway/pull-agents.test.ts: claims its oldest task once, and again after 15 s without acknowledgement',
    ],
    ['On 404 register again', 'sdk/agent.test.ts: registers again when the gateway no longer knows it'],
    ['An agent that registered a URL', `${AGENTS}an agent that registered a URL cannot claim`],
  ],
  heartbeatAgent: [
    [
      'Reports that the agent',
      'http/secrets.test.ts: the optional fields of a heartbeat count only with a right one',
    ],
    [
      'Call it every',
      'sdk/agent.test.ts: sends heartbeats as often as the gateway asks, with the ids of its tasks',
    ],
    ['On 404 register again', 'sdk/agent.test.ts: keeps sending heartbeats after failures'],
  ],
  registerAgent: [
    [
      'Registers an agent',
      'gateway/restarts.test.ts: an acknowledged task that its restarted agent does not name',
    ],
    ['Call it at start', 'sdk/agent.test.ts: registers again when the gateway no longer knows it'],
  ],
  reportResult: [
    ['Reports the progress', `${REPORTS}a progress report acknowledges the task`],
    ['Repeat the report until', `${REPORTS}a late or repeated report returns accepted: false without effect`],
    [
      'On 404 `task_not_found`',
      'sdk/work.test.ts: does not repeat a report that the gateway does not want: %s',
    ],
  ],
  unregisterAgent: [
    ['Unregisters an agent', `${AGENTS}an unregistered agent is unknown at once`],
    [
      'A task it never took',
      `${DELIVERY}moves 90 s after its agent is unregistered if it may have been taken`,
    ],
    ['For an unknown agent', CONTRACT],
    [
      'Send the `registration`',
      `${AGENTS}the token of an earlier registration neither unregisters, drains nor fills`,
    ],
  ],
};

const ADMINISTRATION: StatementTests = {
  listAgents: [
    ['Lists all registered agents', `${OVERVIEW}come page by page, each agent once`],
    ['With `limit` it returns', `${OVERVIEW}are found by each filter, those in trouble first`],
    ['One call with `limit`', `${OVERVIEW}a page of agents that match is short, and says that it goes on`],
  ],
  getAgent: [['Returns an agent with', `${OVERVIEW}names the agent whose pushes fail`]],
  getOverview: [
    [
      'Returns whether tasks run',
      `${OVERVIEW}counts tasks, slots and agents, and has the oldest tasks and the tags by need`,
    ],
    ['It costs the same', `${OVERVIEW}the overview stays at what it read last, and says since when`],
  ],
  listTasks: [
    ['Lists tasks as rows', `${ROWS}a row says when, how and with what, without the whole payload`],
    ['One call examines', MANY],
    [
      'With `ended_after` only',
      'gateway/who-fails.test.ts: the last 500 count, and both the overview and the list say so',
    ],
    ['Counts without a filter', MANY],
    ['With any other filter', MANY],
  ],
  cancelTasks: [
    ['Cancels the pending', `${ROWS}many are cancelled: those that match, are open and came before`],
    ['Each is cancelled', `${ROWS}many are cancelled: those that match, are open and came before`],
    ['One call examines', MANY],
    [
      'Safe to repeat',
      `${ROWS}named tasks are cancelled once each, and the receipt says what became of the others`,
    ],
  ],
};

/** By the operations' names. */
export const TESTS_OF_OPERATIONS: StatementTests = { ...CLIENTS, ...AGENT_CALLS, ...ADMINISTRATION };
