/**
 * What the gateway writes to its log. The real one is pino, behind a redactor that removes secrets. The end
 * of an outage is logged at the level of its beginning: a log of errors alone says that it is over.
 */
export type Log = {
  /** Whether debug lines are written; where it is absent, they may be. Spares building them on hot paths. */
  readonly isDebugEnabled?: boolean;
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
};
