/** The submission of a form as curl, as a command and as a program. */
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { CopyButton } from '../../parts/copy-button.tsx';
import { Panel } from '../../parts/panel.tsx';
import { gatewayUrl } from '../../routing/routes.ts';
import { COPY_WAYS, type CopyWay, type Submission, writeCopy } from '../submission/copy-as.ts';

/** The page cuts a longer text; copying takes all of it. */
const SHOWN_MAX = 1_500;

/** Draws the panel. There is no text until the draft is a submission. */
export function SameAs({ submission }: { readonly submission: Submission | null }): VNode {
  const [way, setWay] = useState<CopyWay>('curl');
  const text = submission === null ? '' : writeCopy(way, submission, gatewayUrl());
  const title = COPY_WAYS.find((one) => one.way === way)?.title ?? way;
  return (
    <Panel
      title="The same as"
      right={
        <>
          <span class="tabs" role="tablist" aria-label="The same as">
            {COPY_WAYS.map((one) => (
              <button
                key={one.way}
                type="button"
                role="tab"
                id={`tab-${one.way}`}
                aria-controls="same-as"
                aria-selected={one.way === way}
                onClick={() => setWay(one.way)}
              >
                {one.title}
              </button>
            ))}
          </span>
          {submission && (
            <CopyButton
              text={text}
              label={`Copy as ${title}`}
              done={`Copied as ${title}, without the secret.`}
            />
          )}
        </>
      }
    >
      <div class="in" role="tabpanel" id="same-as" aria-labelledby={`tab-${way}`}>
        {submission ? (
          <pre class="code same-as">{text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text}</pre>
        ) : (
          <p class="muted">Complete the form first.</p>
        )}
      </div>
    </Panel>
  );
}
