/** Renders explanations of tasks and previews of matches for people. */
import type { HistoryEntry, MatchAgent, TaskExplanation, TaskMatch } from '../../contract.ts';
import { createForeignError } from '../../errors.ts';
import { cleanText, describeValue } from './safe-text.ts';
import { type Column, renderFields, renderTable } from './table.ts';
import type { Terminal } from './terminal.ts';
import { formatAge, formatTime } from './time.ts';

type AskedQuestion = TaskExplanation['questions'][number];
type HistoryRow = HistoryEntry & { readonly sinceSeconds: number };

/** Returns the hint in words of the command line, with the task's id if known; empty without a hint. */
export function translateHint(hint: string | null, request_id: string | null = null): string {
  const answer = `"task-gateway task answer ${request_id ?? '<request_id>'} <key>"`;
  return (hint ?? '')
    .replaceAll('`POST /api/cli/tasks/{request_id}/answer`', () => answer)
    .replaceAll('`queue_timeout`', '--queue-timeout')
    .replaceAll('`timeout`', '--timeout')
    .replaceAll('`POST /api/cli/match`', '"task-gateway match"');
}

type Shown = { readonly history?: unknown; readonly questions?: unknown; readonly match: TaskMatch | null };

/**
 * Throws a `ConnectionError` unless history, questions and match can be rendered, because the response may
 * not be a gateway's.
 */
export function requireReadable({ history = [], questions = [], match }: Shown): void {
  const hasAgents = match === null || (isObjects(match.tags) && isObjects(match.agents));
  const hasLists = match === null || match.agents?.every((one) => Array.isArray(one.shared_tags));
  if (isObjects(history) && isObjects(questions) && hasAgents && hasLists) return;
  throw createForeignError('not_a_gateway', 'sent an explanation that can’t be read');
}

function isObjects(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === 'object' && one !== null);
}

/**
 * Renders a task's explanation: how it stands, its history, what its agent asked, the agents it could go to,
 * and the hint.
 */
export function renderExplanation(terminal: Terminal, explanation: TaskExplanation): string {
  const { request_id, status, outcome, history, history_dropped, questions = [] } = explanation;
  const { match, agent, hint } = explanation;
  const fields: readonly (readonly [string, string])[] = [
    ['request_id', request_id],
    ['status', status],
    ['outcome', outcome ?? '–'],
    ['deadline', formatTime(explanation.deadline_time, 'milliseconds')],
    ...(agent && outcome === null ? [['agent', describeAgent(agent)] as const] : []),
  ];
  const dropped = history_dropped > 0 ? `\n${history_dropped} entries of the middle were dropped.\n` : '';
  return [
    renderFields(fields, terminal.out.paint),
    `\n${renderHistory(terminal, history)}${dropped}`,
    ...(questions.length > 0 ? [`\n${renderQuestions(terminal, questions)}`] : []),
    ...(match ? [`\n${renderMatch(terminal, match)}`] : []),
    ...renderHint(hint, request_id),
  ].join('');
}

/** Returns, for example, `gpu-1, last contact 52 s ago`. */
function describeAgent({ agent_id, silent_seconds }: NonNullable<TaskExplanation['agent']>): string {
  const contact = typeof silent_seconds === 'number' ? formatAge(silent_seconds) : 'unknown';
  return `${describeValue(agent_id)}, last contact ${contact}`;
}

/** Renders which agents qualify for tags, and the hint. */
export function renderPreview(terminal: Terminal, match: TaskMatch, hint: string | null): string {
  return [renderMatch(terminal, match), ...renderHint(hint, null)].join('');
}

function renderHint(hint: string | null, request_id: string | null): readonly string[] {
  return hint === null ? [] : [`\n${cleanText(translateHint(hint, request_id))}\n`];
}

/** Renders the questions of the agents, the latest one last. */
function renderQuestions({ out }: Terminal, questions: readonly AskedQuestion[]): string {
  const columns: readonly Column<AskedQuestion>[] = [
    { title: 'ASKED', cell: ({ asked_time }) => formatTime(asked_time, 'milliseconds'), whole: true },
    {
      title: 'ANSWERED',
      cell: ({ answered_time }) => (answered_time === null ? '–' : formatTime(answered_time, 'milliseconds')),
      paint: (text, { answered_time }) => (answered_time === null ? out.paint('yellow', text) : text),
      whole: true,
    },
    { title: 'KEY', cell: ({ key }) => describeValue(key), whole: true },
    { title: 'QUESTION', cell: ({ prompt }) => describeValue(prompt) },
  ];
  return renderTable(columns, questions, {
    widthMax: out.columns,
    paintHead: (text) => out.paint('bold', text),
  });
}

function renderHistory({ out }: Terminal, history: readonly HistoryEntry[]): string {
  const startSeconds = history[0]?.time ?? 0;
  const rows = history.map((entry) => ({ ...entry, sinceSeconds: entry.time - startSeconds }));
  const columns: readonly Column<HistoryRow>[] = [
    { title: 'TIME', cell: ({ time }) => formatTime(time, 'milliseconds'), whole: true },
    { title: 'AFTER', cell: ({ sinceSeconds }) => `${Number(sinceSeconds).toFixed(3)} s` },
    { title: 'EVENT', cell: ({ event, count }) => (count > 1 ? `${event} ×${count}` : describeValue(event)) },
    { title: 'AGENT ID', cell: ({ agent_id }) => describeValue(agent_id ?? '–') },
    { title: 'DETAIL', cell: ({ detail }) => describeValue(detail ?? '') },
  ];
  return renderTable(columns, rows, { widthMax: out.columns, paintHead: (text) => out.paint('bold', text) });
}

function renderMatch({ out }: Terminal, match: TaskMatch): string {
  const tags = match.tags.map(({ tag, agents, free }) => `${tag}: ${free} of ${agents} free`).join(', ');
  const when = match.live ? 'now' : 'as it was when the task ended';
  const head = `Agents ${when}, of ${match.agents_total} registered (${tags || 'no tags'}):\n`;
  if (match.agents.length === 0) return cleanText(head.trimEnd()).concat('\n');
  const columns: readonly Column<MatchAgent>[] = [
    { title: 'AGENT ID', cell: ({ agent_id }) => describeValue(agent_id) },
    {
      title: 'VERDICT',
      cell: ({ reason, push_failing }) => (push_failing ? `${reason}, push failing` : describeValue(reason)),
      paint: (text, { eligible }) => out.paint(eligible ? 'green' : 'yellow', text),
    },
    { title: 'STATE', cell: ({ state }) => describeValue(state) },
    { title: 'LOAD', cell: ({ current_load, max_concurrent }) => `${current_load}/${max_concurrent}` },
    { title: 'SHARED TAGS', cell: ({ shared_tags }) => shared_tags.join(',') },
    { title: 'SEEN', cell: ({ last_contact_time }) => formatAge(match.time - last_contact_time) },
  ];
  const table = renderTable(columns, match.agents, {
    widthMax: out.columns,
    paintHead: (text) => out.paint('bold', text),
  });
  return `${cleanText(head.trimEnd())}\n${table}`;
}
