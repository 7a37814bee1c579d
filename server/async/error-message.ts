/** The message of whatever was thrown: JavaScript can throw any value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
