/** The checks of agents that write output and ask questions. */
import { NotScored, requireEqual, requireThat } from './findings.ts';
import type { Received } from './trial-gateway.ts';
import type { AgentCheck } from './trials-of-agents.ts';

const WRITES_NOTHING = 'The agent writes no output.';

/** Requires that each write begins no later than where the earlier pieces of its writer end. */
function requireWrites(writes: readonly Received[]): void {
  if (writes.length === 0) throw new NotScored(WRITES_NOTHING);
  const sent = new Map<string, readonly unknown[]>();
  for (const { body } of writes) {
    const name = `${body.request_id} ${body.writer}`;
    const before = sent.get(name) ?? [];
    const [from, pieces] = [Number(body.from), Array.isArray(body.pieces) ? body.pieces : []];
    requireThat(pieces.length > 0, 'A write has no pieces.');
    requireThat(
      from <= before.length,
      `A write begins at ${body.from}; ${before.length} pieces were sent before.`,
    );
    const again = before.slice(from, from + pieces.length);
    requireEqual(pieces.slice(0, again.length), again, 'What a write repeats');
    sent.set(name, [...before.slice(0, from), ...pieces, ...before.slice(from + pieces.length)]);
  }
}

export const WRITING_CHECKS: Readonly<Record<string, AgentCheck>> = {
  'as-agent.writes'(stage, look) {
    look('wrote');
    requireWrites(stage.gateway.calls('output'));
  },
  'as-agent.writes-again'(_stage, look) {
    const [first, again] = look('wrote').writes;
    if (!first) throw new NotScored(WRITES_NOTHING);
    requireThat(again !== undefined, 'A write whose response was lost was not repeated.');
    const contentOf = ({ body: { writer, from } }: Received): unknown => [writer, from];
    requireEqual(contentOf(again), contentOf(first), '`writer` and `from` of the repeated write');
  },
  'as-agent.claims-answer'(_stage, look) {
    const { claims } = look('wrote');
    if (claims.length === 0) throw new NotScored('The agent asks nothing.');
    requireThat(claims.length > 1, 'No claim of an answer came after one that got 204.');
  },
};
