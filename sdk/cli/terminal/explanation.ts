/** Renders explanations of tasks and previews of matches for people. */
import type { HistoryEntry, MatchAgent, TaskExplanation, TaskMatch } from '../../contract.ts';
import { cleanText } from './safe-text.ts';
import { type Column, renderFields, renderTable } from './table.ts';
import type { Terminal } from './terminal.ts';
import { formatAge, formatTime } from './time.ts';

type HistoryRow = HistoryEntry & { readonly sinceSeconds: number };

/** Returns the hint in the words of the command line; empty if there is no hint. */
export function translateHint(hint: string | null): string {
  return (hint ?? '')
    .replaceAll('`queue_timeout`', '--queue-timeout')
    .replaceAll('`timeout`', '--timeout')
    .replaceAll('`POST /api/cli/match`', '"task-gateway match"');
}

/** Renders a task's explanation: what became of it, its history, the agents it could go to, and the hint. */
export function renderExplanation(terminal: Terminal, explanation: TaskExplanation): string {
  const { request_id, status, outcome, history, history_dropped, match, hint } = explanation;
  const fields: readonly (readonly [string, string])[] = [
    ['request_id', request_id],
    ['status', status],
    ['outcome', outcome ?? '–'],
    ['deadline', formatTime(explanation.deadline_time, 'milliseconds')],
  ];
  const dropped = history_dropped > 0 ? `\n${history_dropped} entries of the middle were dropped.\n` : '';
  return [
    renderFields(fields, terminal.out.paint),
    `\n${renderHistory(terminal, history)}${dropped}`,
    ...(match ? [`\n${renderMatch(terminal, match)}`] : []),
    ...renderHint(hint),
  ].join('');
}

/** Renders which agents qualify for tags, and the hint. */
export function renderPreview(terminal: Terminal, match: TaskMatch, hint: string | null): string {
  return [renderMatch(terminal, match), ...renderHint(hint)].join('');
}

function renderHint(hint: string | null): readonly string[] {
  return hint === null ? [] : [`\n${cleanText(translateHint(hint))}\n`];
}

function renderHistory({ out }: Terminal, history: readonly HistoryEntry[]): string {
  const startSeconds = history[0]?.time ?? 0;
  const rows = history.map((entry) => ({ ...entry, sinceSeconds: entry.time - startSeconds }));
  const columns: readonly Column<HistoryRow>[] = [
    { title: 'TIME', cell: ({ time }) => formatTime(time, 'milliseconds'), whole: true },
    { title: 'AFTER', cell: ({ sinceSeconds }) => `${sinceSeconds.toFixed(3)} s` },
    { title: 'EVENT', cell: ({ event, count }) => (count > 1 ? `${event} ×${count}` : event) },
    { title: 'AGENT ID', cell: ({ agent_id }) => agent_id ?? '–' },
    { title: 'DETAIL', cell: ({ detail }) => detail ?? '' },
  ];
  return renderTable(columns, rows, { widthMax: out.columns, paintHead: (text) => out.paint('bold', text) });
}

function renderMatch({ out }: Terminal, match: TaskMatch): string {
  const tags = match.tags.map(({ tag, agents, free }) => `${tag}: ${free} of ${agents} free`).join(', ');
  const when = match.live ? 'now' : 'as it was when the task ended';
  const head = `Agents ${when}, of ${match.agents_total} registered (${tags || 'no tags'}):\n`;
  if (match.agents.length === 0) return cleanText(head.trimEnd()).concat('\n');
  const columns: readonly Column<MatchAgent>[] = [
    { title: 'AGENT ID', cell: ({ agent_id }) => agent_id },
    {
      title: 'VERDICT',
      cell: ({ reason, push_failing }) => (push_failing ? `${reason}, push failing` : reason),
      paint: (text, { eligible }) => out.paint(eligible ? 'green' : 'yellow', text),
    },
    { title: 'STATE', cell: ({ state }) => state },
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
