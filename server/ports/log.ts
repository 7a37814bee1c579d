/** What the gateway writes to its log. The real one is pino, behind a redactor that removes secrets. */
export type Log = {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
};
