/**
 * The gateway's log. The real log is pino, behind a redactor that removes secrets. The end of an outage is
 * logged at the level of its beginning, so that a log of errors alone shows both.
 */
export type Log = {
  /** False if debug lines are not written: then hot paths need not build them. */
  readonly isDebugEnabled?: boolean;
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
};
