/** The steps of scenarios with questions, beside those of `steps.ts`. */
import type { Fields, Peer } from './peer.ts';
import { admin, auth, write } from './steps.ts';

export const question = (key: string, more: Fields = {}): Fields => ({
  question: { key, prompt: '部署吗？', ...more },
});
/** A question with a schema of these fields. */
export const form = (key: string, properties: Fields, more: Fields = {}): Fields =>
  question(key, { schema: { type: 'object', properties, ...more } });

export const answer = (peer: Peer, id: unknown, key: string, value?: unknown) =>
  peer.send(
    `answer ${key} ${JSON.stringify(value)?.slice(0, 80)}`,
    'POST',
    `/api/cli/tasks/${id}/answer?auth=${auth}`,
    {
      json: { key, answer: value },
    },
  );
const claimOf = (agent_id: string, request_id: unknown, key: string, wait: number) =>
  ['POST', '/api/agent/answer', { json: { auth, agent_id, request_id, key, wait } }] as const;
export const claimAnswer = (peer: Peer, agent_id: string, id: unknown, key: string, wait = 0) =>
  peer.send(`claimAnswer ${key} ${wait}`, ...claimOf(agent_id, id, key, wait));

/** Claims while the other step is made; records its response behind that of the step. */
export async function claimDuring(
  peer: Peer,
  agent_id: string,
  id: unknown,
  key: string,
  step: () => Promise<unknown>,
): Promise<void> {
  const waiting = peer.call(...claimOf(agent_id, id, key, 10));
  await new Promise((resolve) => setTimeout(resolve, 200));
  await step();
  const { status, body } = await waiting;
  peer.record(`claimAnswer ${key}, waiting`, [status, body.code ?? body]);
}

/** What one writer writes, piece behind piece. */
export function startWriter(peer: Peer, agent_id: string, id: unknown, writer = 'w') {
  let from = 0;
  return async (...pieces: readonly Fields[]): Promise<void> => {
    const { body } = await write(peer, agent_id, id, from, pieces, { writer });
    from = Number(body.next ?? from);
  };
}

/** The rows of a type: all, and in their order those that wait for an answer, then the others. */
export async function listAsking(peer: Peer, tag: string): Promise<void> {
  for (const query of ['', '&waiting_for_answer=true', '&waiting_for_answer=false']) {
    const { body } = await peer.call('GET', `/api/admin/tasks?type=${tag}${query}`, admin);
    const rows = body.tasks as readonly Fields[];
    const shown = rows.map(({ request_id, status, waiting_for_answer }) => [
      peer.normalize({ request_id }),
      status,
      waiting_for_answer,
    ]);
    peer.record(`rows ${query}`, shown);
  }
}
