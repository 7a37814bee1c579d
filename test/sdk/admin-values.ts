/** What a gateway returns to administrators, as small as the SDK accepts it. */

const TASK_ROW = {
  request_id: 't',
  task_type: 'x',
  task_tags: ['a'],
  cli_session_id: '',
  status: 'failed',
  waiting: false,
  outcome: 'no_agent',
  agent_id: null,
  progress: 0,
  acknowledged: false,
  create_time: 1,
  assigned_time: null,
  ended_time: 2,
  deadline_time: 3,
  gives_up_time: null,
  error_info: 'no agent',
  payload_preview: '{}',
  payload_bytes: 2,
} as const;

export const AGENT_ROW = {
  agent_id: 'a',
  endpoint: 'pull',
  agent_tags: ['x'],
  state: 'ready',
  full: false,
  failing: false,
  eligible: true,
  max_concurrent: 1,
  current_load: 0,
  running: 0,
  unacknowledged: 0,
  registered_time: 1,
  last_contact_time: 2,
  offline_time: null,
  lost_after: null,
  push: {},
} as const;

export const TASK_PAGE = {
  time: 1,
  tasks: [TASK_ROW],
  next_cursor: null,
  counts: { total: 1, complete: true, by_status: { pending: 0 }, waiting: 0, by_outcome: {} },
} as const;

export const OVERVIEW = {
  time: 1,
  version: '1.0.0',
  console: 'on',
  store: { ok: true },
  tasks: {},
  slots: {},
  agents: {},
  window: 900,
  ended: {},
  failures: { since: null, ended: 0, failed: 0, groups_total: 0, groups: [] },
  median_seconds: null,
  series: {},
  tags_total: 0,
  tags: [],
  oldest_waiting: [],
  problems: [],
} as const;
