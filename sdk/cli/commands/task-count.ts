/** `task list --count`: how many tasks match, by status and by outcome. */
import type { TaskGatewayClient } from '../../client.ts';
import type { TaskCounts } from '../../contract.ts';
import { type TaskFilters, toRowQuery } from '../arguments/task-filters.ts';
import { type OutputFormat, renderJson } from '../terminal/output.ts';
import { renderFields } from '../terminal/table.ts';
import type { Terminal } from '../terminal/terminal.ts';

/** Counts the tasks and prints the counts. */
export async function printCounts(
  terminal: Terminal,
  client: Pick<TaskGatewayClient, 'countTasks'>,
  filters: TaskFilters,
  format: OutputFormat,
  signal: AbortSignal,
): Promise<void> {
  const counts = await client.countTasks(toRowQuery(filters), { signal });
  await terminal.print(format === 'table' ? renderCounts(terminal, counts) : renderJson(counts, format));
}

function renderCounts({ out }: Terminal, counts: TaskCounts): string {
  const { total, exact, by_status, waiting, by_outcome } = counts;
  const list = (counts: object): string =>
    Object.entries(counts)
      .map(([name, count]) => `${name} ${count}`)
      .join(', ');
  return renderFields(
    [
      ['Tasks', exact ? String(total) : `at least ${total}`],
      ['By status', list(by_status)],
      ['Waiting', String(waiting)],
      ['By outcome', list(by_outcome)],
    ],
    out.paint,
  );
}
