/** One cell of a task: why it failed, or how its payload begins. */
import type { VNode } from 'preact';
import type { TaskRow } from '../../gateway/shapes.ts';
import { formatDuration } from '../../parts/format.ts';
import { showText } from '../../parts/json-model.ts';
import { Pairs } from './pairs.tsx';

/** Draws the reason if it says more than the state, else the beginning of the payload as keys and values. */
export function PayloadOrError({ row }: { readonly row: TaskRow }): VNode {
  const reason = describeReason(row);
  if (reason !== null) {
    return (
      <span class="cut t-bad" title={reason}>
        {showText(reason)}
      </span>
    );
  }
  return <Pairs text={row.payload_preview} />;
}

/**
 * Says why a task failed; null if its state says enough: it succeeded, was cancelled or found no agent. Pure.
 */
export function describeReason(
  row: Pick<TaskRow, 'outcome' | 'error_info' | 'create_time' | 'deadline_time'>,
): string | null {
  const { outcome, error_info, create_time, deadline_time } = row;
  if (outcome === 'failed' || outcome === 'agent_lost') return error_info;
  if (outcome !== 'timeout') return null;
  return `not finished within its timeout of ${formatDuration(deadline_time - create_time)}`;
}
