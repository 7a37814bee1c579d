/** The whole document, as a bundler can take it along. */
import document from '@task-gateway/contract/openapi.whole.json' with { type: 'json' };

/** Returns a copy, which the caller may change. */
export function readWholeDocument(): unknown {
  return structuredClone(document);
}
