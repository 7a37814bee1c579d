/**
 * Ids, cut where they say least: of a task its end, for a UUIDv7 begins with the time; of an agent its
 * middle, for the end names the replica.
 */
import type { VNode } from 'preact';
import { hrefOf } from '../routing/routes.ts';
import { tailOf } from './format.ts';

export type TaskIdProps = { readonly request_id: string };

/** A link to a task: the last 8 characters of its id. */
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

/** A link to an agent. */
export function AgentId({ agent_id, isBold = false }: AgentIdProps): VNode {
  return (
    <a class={isBold ? 'mono b' : 'mono'} href={hrefOf({ page: 'agent', agent_id })}>
      <CutMiddle text={agent_id} />
    </a>
  );
}

const TAIL_LENGTH = 11;
const WHOLE_LENGTH = 18;

/** A text cut in its middle where it is too wide; its last 11 characters are always there. */
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
