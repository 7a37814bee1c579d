/**
 * JSON that folds. The first level is open, long texts are cut, and many children come in pages. A part is
 * drawn when it is opened, so a large value costs nothing before. All of it is drawn as text.
 */
import type { VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { CopyButton } from './copy-button.tsx';
import { formatBytes, formatNumber } from './format.ts';
import {
  describeJson,
  escapeText,
  JSON_BYTES_MAX,
  type JsonNode,
  listChildren,
  measureJson,
} from './json-model.ts';
import { Panel } from './panel.tsx';

export type JsonPanelProps = { readonly title: string; readonly value: unknown };

/** Draws a panel with a value, its size, and a button that copies it whole. */
export function JsonPanel({ title, value }: JsonPanelProps): VNode {
  const bytes = useMemo(() => measureJson(value), [value]);
  const text = useMemo(() => JSON.stringify(value, null, 2), [value]);
  const node = describeJson(value);
  const size = formatBytes(bytes);
  return (
    <Panel
      title={title}
      note={node.kind === 'container' ? `${node.summary}, ${size}` : size}
      right={
        <CopyButton
          text={text}
          label={`Copy the ${title.toLowerCase()}`}
          done={`Copied the ${title.toLowerCase()}.`}
        />
      }
    >
      <JsonTree value={value} isOpen={bytes <= JSON_BYTES_MAX} />
    </Panel>
  );
}

/** Draws a value that folds. `isOpen` says whether its first level is open. */
export function JsonTree({ value, isOpen }: { readonly value: unknown; readonly isOpen: boolean }): VNode {
  return (
    <div class="json">
      <JsonBranch {...{ value, isOpen }} name={null} depth={0} isLast />
    </div>
  );
}

type BranchProps = {
  readonly value: unknown;
  /** The key; null for a member of a list and for the whole value. */
  readonly name: string | null;
  readonly depth: number;
  readonly isLast: boolean;
  readonly isOpen?: boolean;
};
/** Deeper levels are not indented further, so that a narrow column has room for them. */
const INDENTED_MAX = 8;

function JsonBranch({ value, name, depth, isLast, isOpen = false }: BranchProps): VNode {
  const node = describeJson(value);
  const indent = { '--d': String(Math.min(depth, INDENTED_MAX)) };
  if (node.kind === 'container' && typeof value === 'object' && value !== null) {
    return <JsonContainer {...{ node, value, name, depth, isLast, isOpen, indent }} />;
  }
  return (
    <div class="ln" style={indent}>
      <Key name={name} />
      {node.kind === 'text' ? <Text text={String(value)} node={node} /> : node.kind === 'plain' && node.text}
      {!isLast && <span class="p">,</span>}
    </div>
  );
}

type ContainerProps = {
  readonly node: Extract<JsonNode, { kind: 'container' }>;
  readonly value: object;
  readonly name: string | null;
  readonly depth: number;
  readonly isLast: boolean;
  readonly isOpen: boolean;
  readonly indent: { readonly '--d': string };
};

function JsonContainer({ node, value, name, depth, isLast, isOpen, indent }: ContainerProps): VNode {
  const [open, setOpen] = useState(isOpen);
  const [pages, setPages] = useState(1);
  const { children, restCount } = open ? listChildren(value, pages) : { children: [], restCount: 0 };
  const comma = isLast ? null : <span class="p">,</span>;
  return (
    <details open={open} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary style={indent}>
        <Key name={name} />
        <span class="p">{node.open}</span>
        <span class="sum">
          {' '}
          {node.summary} <span class="p">{node.close}</span>
          {comma}
        </span>
      </summary>
      {children.map((child, index) => (
        <JsonBranch
          key={child.key ?? index}
          value={child.value}
          name={child.key}
          depth={depth + 1}
          isLast={index === children.length - 1 && restCount === 0}
        />
      ))}
      {restCount > 0 && (
        <div class="ln" style={{ '--d': String(Math.min(depth + 1, INDENTED_MAX)) }}>
          <button class="long" type="button" onClick={() => setPages(pages + 1)}>
            {formatNumber(restCount)} more, show the next {Math.min(restCount, 100)}
          </button>
        </div>
      )}
      {open && (
        <div class="ln" style={indent}>
          <span class="p">{node.close}</span>
          {comma}
        </div>
      )}
    </details>
  );
}

function Key({ name }: { readonly name: string | null }): VNode | null {
  if (name === null) return null;
  return (
    <>
      <span class="k">{escapeText(name)}</span>
      <span class="p">: </span>
    </>
  );
}

type TextProps = { readonly text: string; readonly node: Extract<JsonNode, { kind: 'text' }> };

function Text({ text, node }: TextProps): VNode {
  const [isWhole, setWhole] = useState(false);
  if (isWhole || node.restLength === 0) return <span>"{escapeText(text)}"</span>;
  return (
    <>
      <span>
        "{node.shown}
        <span class="p">…</span>"
      </span>{' '}
      <button class="long" type="button" onClick={() => setWhole(true)}>
        {formatNumber(node.restLength)} more characters
      </button>
    </>
  );
}
