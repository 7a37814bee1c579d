/** The question before a task is cancelled. */
import type { Task } from '@task-gateway/sdk';
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { useConsole } from '../../gateway/console.ts';
import { describeError } from '../../parts/describe-error.ts';
import { showToast } from '../../parts/toast.tsx';
import { ConfirmDialog } from '../confirm-dialog.tsx';

export type CancelOneProps = {
  readonly task: Task;
  /** A state of `stateOf()`. */
  readonly state: string;
  readonly onClose: () => void;
  /** Called when the task has ended, whether by this cancellation or earlier. */
  readonly onCancelled: () => void;
};

const SENTENCES: ReadonlyMap<string, string> = new Map([
  ['pending', 'It waits for an agent.'],
  ['not_taken', 'Its agent has not taken it yet.'],
]);

export function CancelOne({ task, state, onClose, onCancelled }: CancelOneProps): VNode {
  const { client } = useConsole();
  const [isBusy, setBusy] = useState(false);
  const cancel = async (): Promise<void> => {
    setBusy(true);
    try {
      const { cancelled } = await client.cancelTasks({
        filter: null,
        request_ids: [task.request_id],
        created_before: task.create_time + 1,
        dry_run: false,
        cursor: null,
      });
      showToast({
        tone: 'ok',
        text: cancelled === 1 ? 'Cancelled the task.' : 'The task had ended already.',
      });
      onCancelled();
    } catch (error) {
      showToast({ tone: 'bad', text: `Could not cancel the task: ${describeError(error)}.` });
    }
    onClose();
  };
  return (
    <ConfirmDialog
      title="Cancel this task?"
      keep="Keep it"
      confirm={isBusy ? 'Cancelling…' : 'Cancel the task'}
      isDanger
      refusal={isBusy ? 'It is being cancelled.' : null}
      onClose={onClose}
      onConfirm={() => void cancel()}
    >
      <p>
        {SENTENCES.get(state) ?? 'It runs.'} It ends as <code>cancelled by user</code>, and its client
        receives the event.
      </p>
      <p class="muted">
        Its agent learns of it with its next heartbeat and may still be working until then. A cancelled task
        cannot be resumed, only submitted again.
      </p>
    </ConfirmDialog>
  );
}
