/** Judges an agent's silence. Pure. */

/** The two fields of an agent that matter here. */
type Contact = { readonly state: string; readonly offline_time: number | null };

/** This many seconds before silence makes an agent offline, the agent is worth a look. */
const NEAR_SECONDS = 30;

/** `bad`: the agent is offline. `wait`: it will be within 30 s if it stays silent. Else `ok`. */
export function classifyContact({ state, offline_time }: Contact, now: number): 'ok' | 'wait' | 'bad' {
  if (state === 'offline') return 'bad';
  return offline_time !== null && offline_time - now <= NEAR_SECONDS ? 'wait' : 'ok';
}
