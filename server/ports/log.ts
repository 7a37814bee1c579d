/**
 * The gateway's log. The real one is pino, behind a redactor that removes secrets. An outage ends in the log
 * at the level at which it began, so that a log of errors alone says when it is over.
 */
export type Log = {
  /** Whether debug lines are written; where it is absent, they may be. Spares building them on hot paths. */
  readonly isDebugEnabled?: boolean;
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
};
