/** What the gateway writes to its log. The real one is pino, behind a redactor that removes secrets. */
export type Log = {
  /** Whether debug lines are written; where it is absent, they may be. Spares building them on hot paths. */
  readonly isDebugEnabled?: boolean;
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
};
