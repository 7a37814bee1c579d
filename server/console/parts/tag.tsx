/**
 * Tags as outlined texts. A tag may be shared by task and agent, lack an agent, or belong to an offline
 * agent.
 */
import type { VNode } from 'preact';
import { Icon } from './icon.tsx';

/** `shared`: of the task and of the agent; `none`: no agent has it; `off`: its agent is offline. */
type TagKind = 'plain' | 'shared' | 'none' | 'off';

export type TagProps = { readonly tag: string; readonly kind?: TagKind };

/** Draws one tag. A long tag is cut, and its title is whole. */
export function Tag({ tag, kind = 'plain' }: TagProps): VNode {
  return (
    <span class={`tag ${kind}`} title={tag}>
      {kind === 'shared' && <Icon name="check" />}
      <span>{tag}</span>
    </span>
  );
}

export type TagsProps = {
  readonly tags: readonly string[];
  /** How many tags are shown; the others become `+N`. Default: all. */
  readonly max?: number;
  /** Whether the tags stand in one row that is cut at its end, as tables need it. */
  readonly isOneRow?: boolean;
  readonly kindOf?: (tag: string) => TagKind;
};

export function Tags({ tags, max = Number.POSITIVE_INFINITY, isOneRow = false, kindOf }: TagsProps): VNode {
  const hidden = tags.slice(max);
  return (
    <span class={isOneRow ? 'tags one' : 'tags'}>
      {tags.slice(0, max).map((tag) => (
        <Tag key={tag} tag={tag} kind={kindOf?.(tag) ?? 'plain'} />
      ))}
      {hidden.length > 0 && (
        <span class="tag more" title={hidden.join(', ')}>
          +{hidden.length}
        </span>
      )}
    </span>
  );
}
