/**
 * Why a task did not run, or does not yet: one sentence, the tags with their agents, buttons for what helps,
 * and the agents with verdicts. `Ask again now` matches the same tags at this moment.
 */
import type { MatchPreview, Task, TaskExplanation, TaskMatch } from '@task-gateway/sdk';
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { useConsole } from '../../gateway/console.ts';
import { CodedText } from '../../parts/coded-text.tsx';
import { describeError } from '../../parts/describe-error.ts';
import { formatClock, formatCount, formatDuration } from '../../parts/format.ts';
import { Icon } from '../../parts/icon.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Tag } from '../../parts/tag.tsx';
import { showToast } from '../../parts/toast.tsx';
import { hrefOf } from '../../routing/routes.ts';
import { MatchTable } from './match-table.tsx';
import { listRemedyButtons, type Remedy, writeFormQuery } from './verdicts.ts';

export type WhyProps = { readonly task: Task; readonly explanation: TaskExplanation };

/** Draws the panel; nothing if there is nothing to explain. */
export function Why({ task, explanation }: WhyProps): VNode | null {
  const { client } = useConsole();
  const [fresh, setFresh] = useState<MatchPreview | null>(null);
  const advice = fresh ?? explanation;
  const match = fresh?.match ?? explanation.match;
  if (advice.hint === null && match === null) return null;
  const askAgain = async (): Promise<void> => {
    try {
      setFresh(await client.sdk.previewMatch({ task_tags: task.task_tags }));
    } catch (error) {
      showToast({ tone: 'bad', text: `Could not ask: ${describeError(error)}.` });
    }
  };
  return (
    <Panel title={chooseTitle(explanation)} note={match ? describeMoment(match) : undefined}>
      <div class="in">
        {advice.hint !== null && (
          <p class="hint">
            <CodedText text={advice.hint} />
          </p>
        )}
        {fresh !== null && advice.hint === null && (
          <p class="hint t-ok">It would run now: an agent has a free slot.</p>
        )}
        {match !== null && match.tags.length > 0 && <TagSupplies match={match} />}
        <div class="fixes">
          <RemedyLinks task={task} remedies={advice.remedies} match={match} />
          {match !== null && (fresh !== null || !match.live) && (
            <button class="btn small quiet" type="button" onClick={() => void askAgain()}>
              <Icon name="again" />
              Ask again now
            </button>
          )}
        </div>
      </div>
      {match !== null && <MatchTable match={match} />}
    </Panel>
  );
}

function chooseTitle({ outcome, match, status }: TaskExplanation): string {
  if (outcome === 'no_agent') return 'Why it did not run';
  if (status === 'pending') return 'Why it waits';
  if (outcome !== null && outcome !== 'success') return 'What to do';
  return match === null ? 'What to do' : 'Why it waits for another agent';
}

function describeMoment({ live, time, agents_total }: TaskMatch): string {
  const agents = `${formatCount(agents_total, 'agent')} registered`;
  if (live) return `as things are now, ${agents}`;
  return `as the decision saw it at ${formatClock(time, { ms: true })} UTC, ${agents}`;
}

function TagSupplies({ match }: { readonly match: TaskMatch }): VNode {
  return (
    <div class="why-tags">
      {match.tags.map(({ tag, agents, free }) => (
        <span key={tag}>
          <Tag tag={tag} kind={agents === 0 ? 'none' : 'plain'} />
          {formatCount(agents, 'agent')}
          {agents > 0 && `, ${free} of them free`}
        </span>
      ))}
    </div>
  );
}

type RemedyLinksProps = {
  readonly task: Task;
  readonly remedies: readonly Remedy[];
  readonly match: TaskMatch | null;
};

function RemedyLinks({ task, remedies, match }: RemedyLinksProps): VNode {
  const buttons = listRemedyButtons(remedies, task.task_tags, match?.tags ?? [], formatDuration);
  return (
    <>
      {buttons.map(({ text, leadsTo }) => (
        <a
          key={text}
          class="btn small"
          href={
            leadsTo.page === 'agent'
              ? hrefOf({ page: 'agent', agent_id: leadsTo.agent_id })
              : hrefOf({ page: 'submit' }, writeFormQuery(task.request_id, leadsTo))
          }
        >
          <span>
            <CodedText text={text} />
          </span>
        </a>
      ))}
    </>
  );
}
