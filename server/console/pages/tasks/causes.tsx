/** Failed tasks by cause: the groups of the overview that the filter matches. */
import type { VNode } from 'preact';
import { useConsole } from '../../gateway/console.ts';
import { readValue, type Token } from '../../routing/filter.ts';
import { FailureTable } from '../overview/failure-table.tsx';
import { readSegments } from './task-segments.ts';

/** The filters that a group can answer. The two times become `ended=15m`. */
const GROUPED_KEYS = 'type agent outcome status waiting waiting_for_answer since ended'.split(' ');

/**
 * Whether the filter shows only failed tasks and has only `GROUPED_KEYS`, so that its tasks can be grouped.
 */
export function canGroup(tokens: readonly Token[]): boolean {
  const segments = readSegments(tokens);
  const isOfGroups = tokens.every(({ key }) => GROUPED_KEYS.includes(key));
  return isOfGroups && segments.length === 1 && segments[0] === 'failed';
}

/** Whether the filter shows exactly the tasks that the groups count. */
export function isGrouped(tokens: readonly Token[]): boolean {
  return canGroup(tokens) && readValue(tokens, 'since') === null && readValue(tokens, 'ended') === '15m';
}

type SwitchProps = { readonly isOn: boolean; readonly onToggle: () => void };

/** Draws the button that switches between groups and tasks. */
export function CauseSwitch({ isOn, onToggle }: SwitchProps): VNode {
  return (
    <fieldset class="seg" aria-label="Grouping">
      <button type="button" aria-pressed={isOn} onClick={onToggle}>
        By cause
      </button>
    </fieldset>
  );
}

export function CausePanel({ tokens }: { readonly tokens: readonly Token[] }): VNode {
  const { overview, time } = useConsole();
  const read = overview.value.value;
  const [type, agent] = [readValue(tokens, 'type'), readValue(tokens, 'agent')];
  const outcomes = readValue(tokens, 'outcome')?.split(',');
  const groups = read?.failures.groups.filter(
    ({ task_type, agent_id, outcome }) =>
      (type === null || type === task_type) &&
      (agent === null || agent === agent_id) &&
      (outcomes === undefined || outcomes.includes(outcome)),
  );
  return (
    <section class="panel">
      {read && groups && groups.length > 0 && (
        <FailureTable groups={groups} window={read.window} now={time.shown.value} />
      )}
      {groups?.length === 0 && (
        <div class="in">
          <p class="b">No such task failed in the last 15 minutes.</p>
        </div>
      )}
    </section>
  );
}
