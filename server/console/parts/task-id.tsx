/**
 * Ids, cut where they say least. Of a task's id the end is shown, because a UUIDv7 begins with the time. An
 * agent's id is cut in its middle, because its end names the replica.
 */
import type { VNode } from 'preact';
import { hrefOf } from '../routing/routes.ts';
import { tailOf } from './format.ts';

export type TaskIdProps = { readonly request_id: string };

/** Links to a task, by the last 8 characters of its id. */
export function TaskId({ request_id }: TaskIdProps): VNode {
  return (
    <a class="mono rowlink" href={hrefOf({ page: 'task', request_id })} title={request_id}>
      {tailOf(request_id)}
    </a>
  );
}

export type AgentIdProps = {
  readonly agent_id: string;
  readonly isBold?: boolean;
};

export function AgentId({ agent_id, isBold = false }: AgentIdProps): VNode {
  return (
    <a class={isBold ? 'mono b' : 'mono'} href={hrefOf({ page: 'agent', agent_id })}>
      <CutMiddle text={agent_id} />
    </a>
  );
}

const TAIL_LENGTH = 11;
const WHOLE_LENGTH = 18;

/** Draws a text that is cut in its middle if it is too wide. Its last 11 characters always show. */
export function CutMiddle({ text }: { readonly text: string }): VNode {
  const characters = [...text];
  if (characters.length <= WHOLE_LENGTH) {
    return (
      <span class="mid">
        <span class="cut">{text}</span>
      </span>
    );
  }
  return (
    <span class="mid" title={text}>
      <span class="cut">{characters.slice(0, -TAIL_LENGTH).join('')}</span>
      <span>{characters.slice(-TAIL_LENGTH).join('')}</span>
    </span>
  );
}
