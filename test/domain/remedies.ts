/** Remedies as a test names them. */
import type { Advice } from '../../server/domain/advice-words.ts';

/** Each with its kind and what it is about. */
export const remediesOf = ({ remedies }: Advice): string =>
  remedies
    .map(({ kind, tag, agent_id, seconds }) =>
      [kind, tag, agent_id, seconds].filter((one) => one !== null).join(' '),
    )
    .join(', ');
