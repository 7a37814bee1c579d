/** The negative controls of what the document says about fields, parameters and headers (L1). */
import type { Control } from './controls.ts';
import { type Fields, isFields, listOf } from './findings.ts';
import {
  CONTROL_SECRETS,
  changeBodies,
  changeHeaders,
  changePushHeader,
  changeRequests,
  changeResponses,
  changeTasks,
  takeRefused,
} from './planted-faults.ts';
import type { Send } from './subject.ts';

const TASKS = '/api/admin/tasks';
const AGENTS = '/api/admin/agents';
const CANCEL = /^POST \/api\/admin\/tasks\/cancel$/;
const PAGE = /\/output$/;
const EXPLAIN = /\/explain$/;

/** A parameter of a list is ignored. */
function ignore(path: string, name: string): Control {
  const plant =
    (send: Send): Send =>
    (url, init) => {
      const other = new URL(url);
      if (other.pathname === path) other.searchParams.delete(name);
      return send(other.href, init);
    };
  return { fault: `\`${name}\` of ${path} is ignored.`, plant };
}

/** A field of the filter of a cancellation is ignored. */
function ignoreFilter(name: string): Control {
  const plant = changeRequests(CANCEL, ({ filter, ...body }) => {
    const { [name]: _, ...left } = isFields(filter) ? filter : {};
    return { ...body, filter: left };
  });
  return { fault: `\`${name}\` of a cancellation is ignored.`, plant };
}

/** The history without some of its entries. */
function changeHistory(change: (entries: readonly Fields[]) => readonly Fields[]) {
  return changeBodies(EXPLAIN, (body) => ({ ...body, history: change(listOf(body.history)) }));
}

/** The controls, by the requirement whose check must find the fault. */
export const FIELD_CONTROLS: Readonly<Record<string, Control>> = {
  'fields.only-tasks-with-one-of-these-statuses-separated': ignore(TASKS, 'status'),
  'fields.only-tasks-that-ended-in-one-of-these-ways-separated': ignore(TASKS, 'outcome'),
  'fields.true-only-tasks-that-wait-for-an-agent-false-only-those-that-do-not-ended': ignore(
    TASKS,
    'waiting',
  ),
  'fields.true-only-tasks-that-wait-for-an-answer-the': ignore(TASKS, 'waiting_for_answer'),
  'fields.only-tasks-of-this-task': ignore(TASKS, 'type'),
  'fields.only-tasks-with-this': ignore(TASKS, 'tag'),
  'fields.only-tasks-of-this-cli': ignore(TASKS, 'session'),
  'fields.only-tasks-whose-agent': ignore(TASKS, 'agent'),
  'fields.only-tasks-whose-request': ignore(TASKS, 'id'),
  'fields.only-tasks-that-were-submitted-at': ignore(TASKS, 'created_after'),
  'fields.only-tasks-that-were-submitted-before': ignore(TASKS, 'created_before'),
  'fields.of-the-last-500': ignore(TASKS, 'ended_after'),
  'fields.only-tasks-that-failed': ignore(TASKS, 'error'),
  'fields.only-tasks-with-one-of-these-statuses': ignoreFilter('status'),
  'fields.only-tasks-that-ended-in-one-of-these-ways-a': ignoreFilter('outcome'),
  'fields.true-only-tasks-that-wait-for-an-agent-false-only-those-that-do-not': ignoreFilter('waiting'),
  'fields.true-only-tasks-that-wait-for-an-answer-false': ignoreFilter('waiting_for_answer'),
  'fields.the-tasks-to-cancel': {
    fault: 'A cancellation takes any number of ids.',
    plant: takeRefused(CANCEL, 422),
  },
  'fields.only-agents-in-this': ignore(AGENTS, 'state'),
  'fields.only-agents-with-this': ignore(AGENTS, 'tag'),
  'fields.only-agents-at-full': ignore(AGENTS, 'full'),
  'fields.only-agents-that-do': ignore(AGENTS, 'failing'),
  'fields.only-agents-whose-agent': ignore(AGENTS, 'id'),
  'fields.secrets-are-never-listed': {
    fault: 'The listing has the secrets of agents.',
    plant: changeBodies(/^GET \/api\/admin\/agents$/, (body) => ({ ...body, auth: CONTROL_SECRETS.gateway })),
  },
  'fields.seconds-without-contact-after': {
    fault: '`lost_after` is 0 where there is none.',
    plant: changeBodies(/^GET \/api\/admin\/agents\/[^/]+$/, (agent) => ({ ...agent, lost_after: 0 })),
  },
  'fields.the-etag-of-an': {
    fault: 'The `ETag` is another one each time.',
    plant: (send) => {
      let count = 0;
      return changeHeaders(/^GET \/api\/admin\/agents$/, 'etag', () => `W/"${++count}"`)(send);
    },
  },
  'fields.never-decreases': {
    fault: 'Progress falls.',
    plant: (send) => {
      let progress: unknown;
      return changeTasks((task) => (task.progress === 50 ? { ...task, progress } : task))((url, init) => {
        if (url.endsWith('/result')) progress = JSON.parse(init.body ?? '{}').progress;
        return send(url, init);
      });
    },
  },
  'fields.json-pointer-rfc-6901': {
    fault: 'The pointer of a missing field is that of the body.',
    plant: changeResponses(/^POST \/api\/cli\/tasks$/, (answer) => ({
      ...answer,
      body: answer.body.replace('"pointer":"/task_type"', '"pointer":""'),
    })),
  },
  'fields.whether-the-task-is': {
    fault: 'A page of a task that has ended is complete, whatever follows.',
    plant: changeBodies(PAGE, (page) => ({ ...page, complete: page.complete || page.outcome !== null })),
  },
  'fields.a-piece-to-write': {
    fault: 'A piece may be several things.',
    plant: takeRefused(PAGE, 422),
  },
  'fields.code-points-of-the': {
    fault: 'Texts of an answer may be of any length.',
    plant: takeRefused(/\/answer$/, 422, /👍👍👍/),
  },
  'fields.the-task-s-events': {
    fault: 'The history does not say that a task waited.',
    plant: changeHistory((entries) => entries.filter(({ event }) => event !== 'waiting')),
  },
  'fields.equal-things-in-a': {
    fault: 'The history has an entry for each report of progress.',
    plant: changeHistory((entries) =>
      entries.flatMap((one) =>
        one.event === 'progress'
          ? [
              { ...one, count: 1 },
              { ...one, count: 1 },
            ]
          : [one],
      ),
    ),
  },
  'fields.they-are-compared-exactly': {
    fault: 'Tags are compared without case.',
    plant: changeRequests(/^POST \/api\/cli\/tasks$/, (body) => ({
      ...body,
      task_tags: JSON.parse(JSON.stringify(body.task_tags ?? []).toLowerCase()),
    })),
  },
  'fields.the-tracing-systems-own-entries-which': {
    fault: 'A long `tracestate` is dropped.',
    plantInPushes: changePushHeader('tracestate', () => ''),
  },
};
