/** The error responses of the simulator itself, in the gateway's form: RFC 9457 with a code. */

const TABLE = {
  validation_failed: { status: 422, title: 'Validation failed' },
  malformed_body: { status: 400, title: 'Malformed body' },
  world_busy: { status: 409, title: 'World busy' },
  too_many_worlds: { status: 409, title: 'Too many worlds' },
  world_not_found: { status: 404, title: 'World not found' },
  not_found: { status: 404, title: 'Not found' },
  method_not_allowed: { status: 405, title: 'Method not allowed' },
  world_threw: { status: 500, title: 'The world threw' },
} as const;

export type SimulatorCode = keyof typeof TABLE;

/** A mistake in a body: where it is (RFC 6901), and what to send instead. */
export type FieldMistake = { readonly pointer: string; readonly detail: string };

/** A mistake of a caller of `/__sim/`. */
export class SimulatorProblem extends Error {
  override readonly name = 'SimulatorProblem';
  readonly code: SimulatorCode;
  readonly errors: readonly FieldMistake[];
  constructor(code: SimulatorCode, detail: string, errors: readonly FieldMistake[] = []) {
    super(detail);
    this.code = code;
    this.errors = errors;
  }
}

export function createProblem({ code, message, errors }: SimulatorProblem): Response {
  const { status, title } = TABLE[code];
  const list = errors.length > 0 ? { errors } : {};
  const body = Object.assign({ type: 'about:blank', title, status, detail: message, code }, list);
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/problem+json' },
  });
}
