/** How an agent's silence is to be taken. Pure. */

/** The two fields of an agent that decide it. */
type Contact = { readonly state: string; readonly offline_time: number | null };

/** So many seconds before silence makes an agent offline, it is worth a look. */
const NEAR_SECONDS = 30;

/** `bad`: it is offline; `wait`: it will be within 30 s if it stays silent; `ok` otherwise. */
export function classifyContact({ state, offline_time }: Contact, now: number): 'ok' | 'wait' | 'bad' {
  if (state === 'offline') return 'bad';
  return offline_time !== null && offline_time - now <= NEAR_SECONDS ? 'wait' : 'ok';
}
