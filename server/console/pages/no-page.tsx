/** Shown if no page has the address. */
import type { VNode } from 'preact';
import { hrefOf } from '../routing/routes.ts';

export function NoPage(): VNode {
  return (
    <>
      <div class="head">
        <h1>There is no page at this address</h1>
      </div>
      <p>
        <a class="link" href={hrefOf({ page: 'overview' })}>
          Go to the overview
        </a>
      </p>
    </>
  );
}
