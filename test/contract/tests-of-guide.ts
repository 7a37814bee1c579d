/**
 * Which test holds each statement of the guide: where the statement stands, how it begins, and the test by
 * its file below `test/` and a part of its title. `|` stands for all rows of the section's table. `ADVICE`
 * marks what says something to the reader and promises nothing, `POLICY` what only people can keep.
 */

/** Says something to the reader, promises nothing of the gateway: no test can hold it. */
export const ADVICE = 'advice to the reader';
/** A promise that people keep, not code. */
export const POLICY = 'a policy';

export type StatementTests = Readonly<Record<string, readonly (readonly [begins: string, test: string])[]>>;

const TASKS = 'contract/guide-tasks.test.ts: ';
const OUTCOME = 'gateway/outcomes.test.ts: has the outcome %s, with the error %j';
const DELIVERY = 'gateway/delivery.test.ts: ';
const MOVING = 'gateway/moving.test.ts: ';
const SILENCE = 'gateway/silence.test.ts: ';
const REPORTS = 'gateway/reports.test.ts: ';
const RULES = 'domain/delivery-rules.test.ts: ';
const GUIDE = 'http/guide.test.ts: ';
const ORDER = 'http/order.test.ts: %s reports the first of every two faults';
const PARAMETERS = 'http/parameters.test.ts: %s refuses %s=%s';
const FIELDS =
  'http/fields.test.ts: values just within their limits pass, counted in characters, and unknown';
const SIGNATURE = 'push/signature.test.ts: ';
const ACKNOWLEDGED = 'gateway/acknowledgements.test.ts: is pushed again under its id when the process dies';
const SURFACE = 'http/surface.test.ts: ';
const MODEL = 'properties/model.test.ts: the invariants hold after every operation';
const FIVE_CALLS =
  'contract/agent-page.test.ts: the five calls of the guide, sent as they stand, take a task to its end';
const CONTRACT =
  'contract/contract.test.ts: every documented response has a row here, and every row is documented';

/** How tasks and agents live, and how one gets to the other. */
const TASKS_AND_AGENTS: StatementTests = {
  Introduction: [
    ['Accepts tasks from clients', `${DELIVERY}is running before the push starts`],
    ['A client submits a task', 'sdk/run.test.ts: subscribes, then submits with the same session'],
    ['An agent registers its tags', 'sdk/agent.test.ts: registers with its tags, slots and endpoint'],
    ['A task that fails is data', `${DELIVERY}fails at once as no_agent when no agent is eligible`],
    ['Every HTTP error is', 'contract/contract.test.ts: $operationId responds $status when $when'],
    [
      'Bodies are JSON in UTF-8',
      'http/body.test.ts: text outside ASCII arrives as it was sent, in every framing',
    ],
    ['The rules that no schema', ADVICE],
  ],
  'An agent in five calls': [
    ['|', FIVE_CALLS],
    ['Each is a `POST`', FIVE_CALLS],
    ['`capitals` is a tag', FIVE_CALLS],
  ],
  'The life of a task': [
    ['|', `${TASKS}$From: $Cause`],
    [
      '`pending` → `running`',
      'domain/state-table.test.ts: has one line for each trigger, and one for each ending',
    ],
    [
      'A task that is `success` or `failed` never',
      'domain/reachable-states.test.ts: keeps every rule within eight steps',
    ],
    [
      'Each change is durable',
      'engines/durability.suite.ts: it has not resolved, and no reader is shown what it wrote',
    ],
    ['For a program `Task-Outcome`', OUTCOME],
    ['`error_info` is for people', OUTCOME],
    ['A result counts from', `${REPORTS}%s counts from an earlier agent, whose id it gets`],
    [
      'Of the results that an agent',
      `${REPORTS}progress never falls, also not with a failure, and the first reply`,
    ],
    ['From an agent that never', `${REPORTS}%s of another agent is refused, before and after the end`],
  ],
  'The life of an agent': [
    ['|', `${TASKS}$State gets tasks: $Gets tasks`],
    ['Contact is any call', 'engines/contact.suite.ts: by push that found the agent busy counts'],
    [
      'An agent that sends heartbeats, or',
      `${SILENCE}90 s after its last claim began or ended if it is a pull agent`,
    ],
    ['If the last two heartbeats', `${SILENCE}after three times the last gap between its heartbeats`],
    ['A push agent that never', `${SILENCE}90 s after the first push that failed if it sends no heartbeats`],
    ['With a `lost_after`', `${SILENCE}fail within 2 s of their time`],
    [
      'The next call brings',
      `${DELIVERY}makes its agent offline until the next heartbeat when the agent responds with 410`,
    ],
    [
      'An agent without contact for 24',
      'gateway/agents.test.ts: the record of an agent is removed after a day without contact',
    ],
    [
      'Time during which no gateway',
      'gateway/agents.test.ts: time without contact is not counted while no gateway was sweeping',
    ],
    [
      'An agent that unregisters',
      'gateway/contact.test.ts: a waiting claim returns no task once its agent is',
    ],
    [
      'The gateway keeps under',
      'gateway/contact.test.ts: an agent that unregisters keeps its tasks, its turn',
    ],
  ],
  'Which agent gets a task': [
    ['An agent qualifies if', 'domain/task-match.test.ts: an agent is %s'],
    [
      'Of several, agents whose last',
      'gateway/load.test.ts: candidates rank by whether the last push was taken',
    ],
    ['Then the order is', 'gateway/load.test.ts: candidates rank by whether the last push was taken'],
    ['Where agents with more', 'gateway/many-tag-sets.test.ts: a pick, and grants to what it picks'],
    ['Tasks that wait', `${DELIVERY}the oldest waiting task is assigned first when a slot becomes free`],
    ['A task that is submitted at', 'gateway/waiting.test.ts: get it before 63 newcomers'],
  ],
  Delivery: [
    ['2xx, 409', `${DELIVERY}is running before the push starts and acknowledged by a 2xx`],
    ['429, 503', `${MOVING}is not offered for thirty seconds to an agent that was busy for it`],
    ['410', `${MOVING}moves at once when its agent becomes offline`],
    ['3xx, other 4xx', `${TASKS}a task that was not taken moves after 3 attempts and 10 s`],
    ['408, other 5xx', `${TASKS}a task that was not taken moves after 3 attempts and 10 s`],
    ['The pauses before', `${RULES}doubles from 1 s to 30 s, plus or minus a quarter`],
    ['`Retry-After` (seconds', `${TASKS}lets every response that is not "taken" lengthen the pause`],
    [
      'An agent that comes back',
      `${DELIVERY}makes its agent offline until the next heartbeat when the agent responds with 410`,
    ],
    [
      'A 2xx shows in',
      'gateway/acknowledgements.test.ts: is acknowledged within 250 ms, and never pushed again',
    ],
    [
      'An endpoint at an address',
      'push/connections.test.ts: no connection is made to a denied loopback address',
    ],
    ['No second push is sent', `${DELIVERY}is not pushed again while a push has no response, and a late 2xx`],
    [
      'A claimed task that',
      'gateway/pull-agents.test.ts: claims its oldest task once, and again after 15 s without acknowledgement',
    ],
    ['A failed push never', `${DELIVERY}fails at its deadline while its push is still open`],
  ],
  'When a running task moves': [
    ['|', `${TASKS}each row is what the gateway does`],
    [
      'It moves to another',
      `${MOVING}moves at once, not at its next attempt, to an agent that comes to have room`,
    ],
    [
      'An agent that registers again',
      'gateway/restarts.test.ts: an acknowledged task that its restarted agent does not name',
    ],
  ],
};

/** How a request is checked, and what its errors mean. */
const REQUESTS: StatementTests = {
  'Order of checks': [
    ['The first that fails', ORDER],
    ['Bytes that are no HTTP', 'http/transport.test.ts: %s gets a problem, and the connection is closed'],
    [
      'With the default secret',
      'http/host-rule.test.ts: a foreign host gets a 421 at %s, and learns the remedy',
    ],
    ['The documents, `/`, `/livez`', 'http/host-rule.test.ts: %s is served under any host and to any origin'],
    ['The path:', ORDER],
    ['The secret in query', ORDER],
    ['The body:', ORDER],
    ['The secret in the body', ORDER],
    ['`agent_id` is missing', ORDER],
    [
      'A body that is no object',
      'http/fields.test.ts: $operationId refuses a body that is not a JSON object',
    ],
    [
      'The limits of JSON',
      'http/body-bounds.test.ts: 100 levels pass, and the error of one more names its pointer',
    ],
    ['The permission of', 'contract/contract.test.ts: $operationId responds $status when $when'],
    ['The state:', ORDER],
    ['Nothing is coerced', 'http/fields.test.ts: $operationId names the pointer of everything that is wrong'],
    ['In the query a number', PARAMETERS],
    ['Unknown fields and parameters', FIELDS],
  ],
  Secrets: [
    ['|', `${GUIDE}of $operations`],
    ['`auth` below is', ADVICE],
    ['If the body and the query', `${GUIDE}of $operations`],
    ['The `Authorization` header is read', 'http/secrets.test.ts: a read of a task with %j and %j gets %d'],
    ['A wrong `X-Admin-Auth`', 'differential/differential.test.ts: the second gateway and ours are the same'],
    [
      'Without a secret, a heartbeat',
      'http/secrets.test.ts: the optional fields of a heartbeat count only with a right one',
    ],
  ],
  'What to do with an error': [
    ['|', 'sdk/retries.test.ts: $code: the call is repeated as it is: $again'],
    ['An agent whose result is refused', ADVICE],
    ['A `hint` and its', 'domain/match-advice.test.ts: %s'],
    ['Branch on `code`', ADVICE],
    ['Each operation lists', CONTRACT],
    ['Steps 1 and 3', `${GUIDE}the bodies that belong to no operation are those that are sent`],
    ['The title of', `${GUIDE}the titles that no response of an operation shows are those that are sent`],
  ],
  'The signature of a push': [
    ['|', `${GUIDE}the signatures of the test vector are those of the gateway`],
    ['With a push secret', `${SIGNATURE}with two secrets a receiver that has either can verify`],
    ['Each is `v1,`', `${SIGNATURE}the published test vector is reproduced`],
    ['One that matches', `${SIGNATURE}with two secrets a receiver that has either can verify`],
    ['Compare in constant time', ADVICE],
    ['The key: of a secret', `${SIGNATURE}after whsec_ a secret must be base64`],
    [
      'Libraries for Standard',
      'server/config-mistakes.test.ts: a push secret that libraries read as another key is warned of',
    ],
  ],
  Limits: [
    ['|', `${GUIDE}the limits are those of the gateway and of the schemas`],
    ['Lengths count code points', FIELDS],
  ],
  'Numbers and keys': [
    [
      'Payloads and results',
      'resilience/keywords.test.ts: every keyword of every schema of a request is broken once',
    ],
    ['Texts and keys come out', `${GUIDE}numbers and keys come out as it says`],
    ['Of two equal keys', `${GUIDE}numbers and keys come out as it says`],
    ['Numbers are IEEE', `${GUIDE}numbers and keys come out as it says`],
    ['Send such integers', ADVICE],
    [
      'A number too large',
      'http/body-bounds.test.ts: the error of a number that overflows names its pointer, at any depth',
    ],
  ],
};

/** What holds whatever happens, and what is there beside the operations. */
const PROMISES: StatementTests = {
  'What is guaranteed': [
    ['**Durable**', 'resilience/kill.test.ts: kills under load break no promise'],
    ['Contact of agents is not', 'engines/contact.suite.ts: counts from the first sweep after a restart'],
    ['**One end**', MODEL],
    [
      '**Order**',
      'engines/feeds.suite.ts: yields stored events in the order of their commits, then live ones',
    ],
    ['When an event, a `wait`', MODEL],
    ['**Delivery to agents', ACKNOWLEDGED],
    [
      'A second agent gets a task',
      `${DELIVERY}moves 90 s after its agent is unregistered if it may have been taken`,
    ],
    ['If both report', `${REPORTS}running counts from its present agent alone; after the end an earlier one`],
    ['**Restart**', 'e2e/e2e-stories.test.ts: after SIGKILL loses nothing that was accepted'],
    ['A push whose outcome', ACKNOWLEDGED],
    [
      '**Kept**',
      'engines/retention.suite.ts: is kept for its time and then removed, with its input, its event',
    ],
    ["The gateway's operator may change", 'server/config.test.ts: every setting is read'],
  ],
  Versions: [
    [
      'The version is that',
      'contract/published.test.ts: the versions of the document and of its package are the same',
    ],
    [
      'Within a major version',
      'contract/breaking.test.ts: each break since the previews is named by the changelog, with its operation and field',
    ],
    [
      'The four statuses',
      `${GUIDE}the four statuses of a task are final, and the states of an agent are open`,
    ],
    ['So ignore fields', ADVICE],
    ['Whatever is to be removed', POLICY],
  ],
  Browsers: [
    ["Unless the gateway's operator", `${SURFACE}a page of any other origin gets no CORS header`],
    ['To an allowed origin', `${GUIDE}a preflight names the headers that a page may send`],
    ['A body that a page sends', 'resilience/cross-origin.test.ts: creates nothing with a form of type %s'],
    ['Credentials (cookies)', `${GUIDE}a preflight names the headers that a page may send`],
    ["`EventSource` can't", ADVICE],
    [
      'Its `onmessage` gets',
      'http/sse.test.ts: a replay that misses events opens with a gap that EventSource',
    ],
  ],
  'Paths beside the API': [
    ['|', `${GUIDE}%s is served by GET, HEAD and OPTIONS, to any origin and under any host`],
    [
      'They need no secret',
      `${GUIDE}%s is served by GET, HEAD and OPTIONS, to any origin and under any host`,
    ],
    ['The documents, `/` and', `${GUIDE}the bodies of the index and of the probes are those that are shown`],
    ['`/docs` shows', 'resilience/docs-browser.test.ts: shows the four samples of an operation'],
    ['`/metrics` serves', 'http/metrics-page.test.ts: is not needed where the page is public'],
    ['Every path that serves GET', `${SURFACE}to HEAD has the headers of the response to GET`],
    ['Every response has', `${SURFACE}has the same four headers, success or not`],
    [
      'While the gateway shuts down',
      'http/drain.test.ts: long polls return at once, and their connections are closed',
    ],
  ],
};

/** By the guide's sections. */
export const TESTS_OF_GUIDE: StatementTests = { ...TASKS_AND_AGENTS, ...REQUESTS, ...PROMISES };
