/**
 * All metrics of the gateway as data: name, type, labels, help and buckets. OPERATING.md has the same table;
 * a test compares them.
 *
 * No label has unbounded values, such as a type, a tag, a session or an id. Each metric describes this
 * process or the whole store:
 *
 *   process   what this process has done, or has now: add it up over the replicas
 *   store     what the store holds, the same from every replica: take any of them, never the sum
 */
import type { PushOutcome } from '../ports/pusher.ts';

export const PUSH_OUTCOMES = [
  'acknowledged',
  'untaken',
  'unknown',
] as const satisfies readonly PushOutcome['kind'][];
export const COMMIT_ENDS = ['applied', 'conflict', 'unavailable'] as const;
/** One metric. `buckets` are the upper bounds of a histogram, in seconds, without the last bucket. */
export type Metric = {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly of: 'process' | 'store';
  readonly labels: readonly string[];
  readonly help: string;
  readonly buckets?: readonly number[];
};

const SHORT_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const LONG_SECONDS = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 600, 1_800, 3_600, 86_400];

export const METRICS = {
  task_gateway_info: {
    type: 'gauge',
    of: 'process',
    labels: ['version', 'store'],
    help: "Always 1; the labels are the gateway's version and the kind of its store.",
  },
  task_gateway_tasks_submitted_total: {
    type: 'counter',
    of: 'process',
    labels: [],
    help: 'Tasks whose submission was stored. A repeat under the same Idempotency-Key is not counted.',
  },
  task_gateway_tasks_ended_total: {
    type: 'counter',
    of: 'process',
    labels: ['outcome'],
    help: 'Tasks that became terminal, by what ended them.',
  },
  task_gateway_task_waiting_seconds: {
    type: 'histogram',
    of: 'process',
    labels: [],
    buckets: LONG_SECONDS,
    help: 'Time from the submission of a task to its first assignment to an agent.',
  },
  task_gateway_task_duration_seconds: {
    type: 'histogram',
    of: 'process',
    labels: ['outcome'],
    buckets: LONG_SECONDS,
    help: 'Time from the submission of a task to its end.',
  },
  task_gateway_push_duration_seconds: {
    type: 'histogram',
    of: 'process',
    labels: ['outcome'],
    buckets: [...SHORT_SECONDS, 30, 300],
    help: 'Time of a push until the agent responded or it failed: acknowledged, untaken (the agent certainly does not have the task) or unknown.',
  },
  task_gateway_commit_duration_seconds: {
    type: 'histogram',
    of: 'process',
    labels: ['result'],
    buckets: [0.000_5, ...SHORT_SECONDS],
    help: 'Time of a commit to the store, until it is durable. A conflict is decided again; after unavailable the effect is unknown.',
  },
  task_gateway_request_duration_seconds: {
    type: 'histogram',
    of: 'process',
    labels: ['operation', 'status'],
    buckets: [...SHORT_SECONDS, 30],
    help: 'Time of a request until its response is ready, what a long poll waits included; of an event stream, until it is open. Operation other: pages, probes, unknown paths. Status none: the caller left before.',
  },
  task_gateway_secrets_refused_total: {
    type: 'counter',
    of: 'process',
    labels: [],
    help: 'Requests refused (401): their secret was missing or wrong.',
  },
  task_gateway_open_tasks: {
    type: 'gauge',
    of: 'store',
    labels: ['status'],
    help: 'Tasks that are not terminal: pending or running.',
  },
  task_gateway_open_tasks_limit: {
    type: 'gauge',
    of: 'process',
    labels: [],
    help: 'OPEN_TASKS_MAX: a submission beyond is a 503.',
  },
  task_gateway_waiting_tasks: {
    type: 'gauge',
    of: 'store',
    labels: [],
    help: 'Tasks that wait for an agent with a free slot.',
  },
  task_gateway_oldest_waiting_task_age_seconds: {
    type: 'gauge',
    of: 'store',
    labels: [],
    help: 'Time since the submission of the oldest waiting task; 0 when none waits.',
  },
  task_gateway_waiting_tags: {
    type: 'gauge',
    of: 'store',
    labels: [],
    help: 'Tags that waiting tasks ask for, each once; at most 1,000 are looked at.',
  },
  task_gateway_waiting_tags_without_agent: {
    type: 'gauge',
    of: 'store',
    labels: [],
    help: 'Of these tags, those that no registered agent has, or only such as are offline.',
  },
  task_gateway_agents: {
    type: 'gauge',
    of: 'store',
    labels: ['state'],
    help: 'Registered agents by state.',
  },
  task_gateway_slots_used: {
    type: 'gauge',
    of: 'store',
    labels: [],
    help: 'Slots that running tasks hold.',
  },
  task_gateway_slots_free: {
    type: 'gauge',
    of: 'store',
    labels: [],
    help: 'Slots that could be given a task: of agents neither offline nor draining, less their external load.',
  },
  task_gateway_slots_offline: {
    type: 'gauge',
    of: 'store',
    labels: [],
    help: 'Used slots of agents that are offline: their tasks wait for the agent or for their deadline.',
  },
  task_gateway_streams: {
    type: 'gauge',
    of: 'process',
    labels: [],
    help: 'Event streams that are open.',
  },
  task_gateway_event_loop_delay_seconds: {
    type: 'gauge',
    of: 'process',
    labels: [],
    help: 'How late the event loop was since the last scrape, at its 99th percentile: callers wait that long in addition.',
  },
  task_gateway_store_up: {
    type: 'gauge',
    of: 'process',
    labels: [],
    help: '1 while this process sees commits succeed; else 0, and the figures of the store are missing.',
  },
  task_gateway_disk_stage: {
    type: 'gauge',
    of: 'process',
    labels: [],
    help: 'The stage in which the disk of the database fills: 1 refuses new tasks, agents and output, 2 every write. Else 0.',
  },
  task_gateway_redis_round_trip_seconds: {
    type: 'gauge',
    of: 'process',
    labels: [],
    help: 'Time of the call to Redis that read these figures; missing on another store.',
  },
} as const satisfies Readonly<Record<`task_gateway_${string}`, Metric>>;

export type MetricName = keyof typeof METRICS;
