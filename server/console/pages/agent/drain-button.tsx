/** The button that drains an agent or undrains it. It asks nothing, because the same button undoes it. */
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { useConsole } from '../../gateway/console.ts';
import type { AgentDetail } from '../../gateway/shapes.ts';
import { describeError } from '../../parts/describe-error.ts';
import { showToast } from '../../parts/toast.tsx';

export type DrainButtonProps = {
  readonly agent: AgentDetail;
  /** Called when the agent has changed. */
  readonly onChanged: () => void;
};

export function DrainButton({ agent, onChanged }: DrainButtonProps): VNode {
  const { client, changeRefusal } = useConsole();
  const [isBusy, setBusy] = useState(false);
  const { agent_id, drained_by_operator: isDrained } = agent;
  const refusal = changeRefusal.value;
  const change = async (): Promise<void> => {
    setBusy(true);
    try {
      const { running } = await client.drainAgent(agent_id, !isDrained);
      showToast({ tone: 'ok', text: isDrained ? 'The agent gets tasks again.' : describeDrained(running) });
    } catch (error) {
      const what = isDrained ? 'end the drain' : 'drain the agent';
      showToast({ tone: 'bad', text: `Could not ${what}: ${describeError(error)}.` });
    }
    setBusy(false);
    onChanged();
  };
  return (
    <button
      class="btn"
      type="button"
      aria-disabled={refusal !== null || isBusy}
      title={refusal ?? (isDrained ? '' : 'It finishes its tasks and gets no others')}
      onClick={() => refusal === null && !isBusy && void change()}
    >
      {isDrained ? 'End the drain' : 'Drain'}
    </button>
  );
}

function describeDrained(running: number): string {
  if (running === 0) return 'The agent has no task and gets no others.';
  return `The agent finishes its ${running === 1 ? 'task' : `${running} tasks`} and gets no others.`;
}
