/**
 * What failed calls and failed attempts to connect mean for the caller, the connection and `health()`.
 * Administrators read the message of an outage, so it is one of a few sentences. Only the log has what Redis
 * said.
 */
import { messageOf } from '../../../async/error-message.ts';
import { type OutageKind, StoreUnavailable } from '../../../ports/store.ts';
import { isErrorReply } from './client.ts';
import { UnusableServer } from './durability.ts';

/** The connection broke before the reply came. The call may have had its effect. */
export class ReplyLost extends StoreUnavailable {}

export type CallFailure = {
  readonly error: unknown;
  /** Why the connection must be given up; null if it can stay. */
  readonly lostBecause: unknown;
};

/**
 * Explains why a call failed. If Redis refuses the call for now, that is an outage. If the connection was
 * lost, that is an outage too, and the effect is unknown (`ReplyLost`). Any other error reply is a defect of
 * the gateway, and stays as it is.
 */
export function explainCallFailure(error: unknown): CallFailure {
  const message = messageOf(error);
  const isDefect = error instanceof TypeError || /^(ERR|WRONGTYPE)\b/.test(message);
  if (error instanceof StoreUnavailable || isDefect) return { error, lostBecause: null };
  if (!isErrorReply(error)) return { error: replyLost(explainOutage(error)), lostBecause: error };
  // This may be another store, or no longer the primary: only a new connection can find out.
  const isOtherServer = /^(EMPTIED|READONLY|MASTERDOWN|LOADING|NOAUTH)\b/.test(message);
  return {
    error: explainOutage(error),
    lostBecause: isOtherServer ? error : null,
  };
}

export function replyLost({ message, kind }: StoreUnavailable): ReplyLost {
  return new ReplyLost(`${message} Whether the call had an effect is unknown.`, { kind });
}

type Reason = readonly [words: RegExp, kind: OutageKind, reason: string];

/** The kind and the reason of an outage, by the words of an error reply or of a missing reply. */
const REASONS: readonly Reason[] = [
  [/^EMPTIED\b/, 'emptied', 'the store was emptied or replaced and does not hold what was accepted before'],
  [/^LOADING\b/, 'starting', 'it is loading its data'],
  [/^(READONLY|MASTERDOWN)\b/, 'takes_no_writes', 'it is not the primary'],
  [/^OOM\b/, 'full', 'its memory is full'],
  [/^(MISCONF|NOREPLICAS)\b/, 'takes_no_writes', 'it takes no writes now'],
  [/^(NOAUTH|WRONGPASS|NOPERM)\b/, 'wrong_settings', 'it refuses the credentials of the gateway'],
  [/not replied|does not reply/, 'silent', 'it does not reply'],
];
const UNREACHABLE: Reason = [/^/, 'silent', 'it cannot be reached'];
const UNUSABLE: Reason = [/^/, 'wrong_settings', 'its settings are not those the gateway requires'];

/** Makes the outage for an error or a reason. Its message names no address and repeats no text of Redis. */
export function explainOutage(cause: unknown): StoreUnavailable {
  const message = messageOf(cause);
  const found = REASONS.find(([words]) => words.test(message)) ?? UNREACHABLE;
  const [, kind, reason] = cause instanceof UnusableServer ? UNUSABLE : found;
  return new StoreUnavailable(`Redis is not available: ${reason}.`, { kind, cause });
}

/** Whether every attempt to connect would fail until a person changes a setting. */
export function isPermanent(error: unknown): boolean {
  return error instanceof UnusableServer || /WRONGPASS|NOAUTH|NOPERM|certificate/.test(messageOf(error));
}

/** Whether an outage lasts until a person acts: also if Redis came back without its data. */
export function needsPerson(error: unknown): boolean {
  return isPermanent(error) || messageOf(error).startsWith('EMPTIED');
}

/** Whether a call had no effect because the memory of Redis is full. */
export function isMemoryFull(error: unknown): boolean {
  return error instanceof StoreUnavailable && error.kind === 'full';
}
