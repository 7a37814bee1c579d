/**
 * What failed calls and failed attempts to connect mean: for the caller, for the connection, for `health()`.
 */
import { messageOf } from '../../async/error-message.ts';
import { StoreUnavailable } from '../../ports/store.ts';
import { isErrorReply, Unreachable } from './client.ts';
import { UnusableServer } from './durability.ts';

/** The connection broke before the reply came: the call may have had its effect. */
export class ReplyLost extends StoreUnavailable {}

/** The call had no effect, because the clocks of Redis and of this process disagree. */
export class ClockDisagreement extends Error {
  /** What the script knows of the clock. */
  readonly reading: string;

  constructor(reading: string) {
    super('The clocks of Redis and of this process disagree.');
    this.reading = reading;
  }
}

const CLOCK_ERROR = 'CLOCK ';

export type CallFailure = {
  /** What the call rejects with. */
  readonly error: unknown;
  /** Why the connection must be given up; null when it can go on. */
  readonly lostBecause: string | null;
};

/**
 * Explains why a call failed. What Redis refuses to do now is an outage, a lost connection is an outage after
 * which the effect is unknown, and any other error reply is a defect of the gateway and stays as it is.
 */
export function explainCallFailure(error: unknown): CallFailure {
  const message = messageOf(error);
  if (isErrorReply(error) && message.startsWith(CLOCK_ERROR))
    return { error: new ClockDisagreement(message.slice(CLOCK_ERROR.length)), lostBecause: null };
  const isDefect = error instanceof TypeError || /^(ERR|WRONGTYPE)\b/.test(message);
  if (error instanceof StoreUnavailable || isDefect) return { error, lostBecause: null };
  if (!isErrorReply(error)) return { error: replyLost(describeOutage(message)), lostBecause: message };
  // It is another store, or no longer the primary: only a new connection can find out.
  const isOtherServer = /^(EMPTIED|READONLY|MASTERDOWN|LOADING|NOAUTH)\b/.test(message);
  return {
    error: new StoreUnavailable(`Redis is not available: ${message}`),
    lostBecause: isOtherServer ? message : null,
  };
}

/** The error of a call whose reply will not come; `outage` is a sentence. */
export function replyLost(outage: string): ReplyLost {
  return new ReplyLost(`${outage} Whether the call had an effect is unknown.`);
}

export function describeOutage(reason: string): string {
  return `Redis is not available: ${reason}.`;
}

/** Why an attempt to connect failed, without any address: every client may read it in `health()`. */
export function describePublicly(error: unknown): string {
  if (error instanceof Unreachable) return 'it cannot be reached';
  return error instanceof UnusableServer
    ? 'its settings are not those the gateway requires'
    : messageOf(error);
}

/** Whether another attempt to connect would fail as well, until a person changes a setting. */
export function isPermanent(error: unknown): boolean {
  return error instanceof UnusableServer || /WRONGPASS|NOAUTH|NOPERM|certificate/.test(messageOf(error));
}
