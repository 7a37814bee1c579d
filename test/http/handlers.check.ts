/**
 * A handler that does not fit the document does not compile. The compiler alone checks this file: an expected
 * error that does not occur fails the type check.
 */
import type { Handlers } from '../../server/http/operations/handlers.ts';

const receipt = { ok: true, request_id: 'r' } as const;

/** Handlers that fit. */
export const right: Pick<Handlers, 'cancelTask' | 'claimTask'> = {
  cancelTask: ({ path }) => ({ status: 200, body: { ok: true, request_id: path.request_id } }),
  claimTask: ({ body }) => {
    if (body.agent_id === '') throw new Error('never');
    return { status: 204 };
  },
};

// @ts-expect-error: operations without a handler
export const missing: Handlers = { ...right };

export const wrong = {
  // @ts-expect-error: a status that is not documented
  status: (() => ({ status: 201, body: receipt })) satisfies Handlers['cancelTask'],
  // @ts-expect-error: a body without its fields
  fields: (() => ({ status: 200, body: { ok: true } })) satisfies Handlers['cancelTask'],
  // @ts-expect-error: no body where one is documented
  empty: (() => ({ status: 200 })) satisfies Handlers['cancelTask'],
  body: (({ body }) => {
    // @ts-expect-error: a field the body does not have
    throw body.agent;
  }) satisfies Handlers['unregisterAgent'],
  query: (({ query }) => {
    // @ts-expect-error: a parameter the operation does not have
    throw query.wait;
  }) satisfies Handlers['cancelTask'],
  header: (({ header }) => {
    // @ts-expect-error: a header the operation does not have
    throw header('X-Header');
  }) satisfies Handlers['submitTask'],
};
