/** The client's subscription to a session's events. How a stream is written is in `stream/`. */
import type { Gateway } from '../../ports/gateway.ts';
import { StoreUnavailable } from '../../ports/store.ts';
import { renderItem } from '../stream/event-frames.ts';
import type { Handlers } from './handlers.ts';

/** Creates the handler. The header `Last-Event-ID` wins over the query; an empty one counts as absent. */
export function createEventHandlers(gateway: Gateway): Pick<Handlers, 'subscribeEvents'> {
  return {
    subscribeEvents({ query, header }) {
      // Once a stream has begun its status can't be changed: an outage must be reported before.
      const health = gateway.health();
      if (!health.ok && !health.isReadable) throw new StoreUnavailable(health.reason);
      const session = query.cli_session_id;
      const after = header('Last-Event-ID') || query.last_event_id || null;
      return {
        status: 200,
        events: {
          session,
          open: (signal) => gateway.subscribeEvents(session, after, renderItem, signal),
        },
      };
    },
  };
}
