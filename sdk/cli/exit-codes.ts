/** How the command ends: one exit code per thing a script may want to tell apart, and one line on what to do. */
import {
  AbortError,
  ApiError,
  AuthenticationError,
  ConnectionError,
  NoAgentAvailableError,
  NotFoundError,
  TaskFailedError,
  TaskGatewayError,
  TimeoutError,
  ValidationError,
} from '../errors.ts';

/** The exit codes; the README's table is this one. */
export const EXITS = {
  /** Done. */
  ok: 0,
  /** Anything that has no code of its own: no answer, a refusal, a fault. */
  other: 1,
  /** The command line or the input is wrong. */
  usage: 2,
  /** The wait is over and the task is not. */
  waitOver: 3,
  /** A secret is missing or wrong. */
  auth: 4,
  /** The task ended as failed. */
  taskFailed: 5,
  /** The task failed because no agent could take it. */
  noAgent: 6,
  /** No such task or agent. */
  notFound: 7,
  /** Ctrl-C. */
  interrupted: 130,
} as const;

/** An end that is not a success; the message is what to tell. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: number;

  constructor(exitCode: number, message: string) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Something typed or read that can't work. */
export function createUsageError(message: string): CommandError {
  return new CommandError(EXITS.usage, message);
}

export type Ending = { readonly exitCode: number; readonly text: string };

const ADVICE_AUTH = 'Give the gateway secret with TASK_GATEWAY_AUTH, --auth-file or --auth.';

/** The exit code of an error and what to say: what is wrong, then what to do. */
export function judgeError(error: unknown): Ending {
  if (error instanceof CommandError) return { exitCode: error.exitCode, text: error.message };
  if (error instanceof AbortError) return { exitCode: EXITS.interrupted, text: 'Interrupted.' };
  if (error instanceof TaskFailedError) return judgeFailure(error);
  if (error instanceof ApiError) return judgeRefusal(error);
  if (error instanceof ConnectionError || error instanceof TimeoutError) {
    return { exitCode: EXITS.other, text: `${speakPlainly(error)} ${adviseOnSilence(error)}` };
  }
  if (error instanceof TaskGatewayError) return { exitCode: EXITS.usage, text: speakPlainly(error) };
  return { exitCode: EXITS.other, text: error instanceof Error ? error.message : String(error) };
}

function judgeFailure(error: TaskFailedError): Ending {
  if (error instanceof NoAgentAvailableError) {
    const text = `${error.message}. Look for an agent with such a tag that is not full ("task-gateway agent list"), or wait for one with --queue-timeout.`;
    return { exitCode: EXITS.noAgent, text };
  }
  return { exitCode: EXITS.taskFailed, text: error.message };
}

function judgeRefusal(error: ApiError): Ending {
  const text = speakPlainly(error);
  if (error instanceof AuthenticationError) {
    return { exitCode: EXITS.auth, text: `The gateway refuses the secret. ${ADVICE_AUTH}` };
  }
  if (error instanceof ValidationError) return { exitCode: EXITS.usage, text };
  if (error instanceof NotFoundError) {
    if (error.code === 'task_not_found' || error.code === 'agent_not_found') {
      return { exitCode: EXITS.notFound, text: `${text} Check the id and --url.` };
    }
    return { exitCode: EXITS.other, text: `${text} Is a Task Gateway there? Check --url.` };
  }
  if (error.retryAfterMs !== undefined) {
    return {
      exitCode: EXITS.other,
      text: `${text} Try again in ${Math.ceil(error.retryAfterMs / 1_000)} s.`,
    };
  }
  return { exitCode: EXITS.other, text };
}

function adviseOnSilence(error: TaskGatewayError): string {
  return error.code === 'connection_failed'
    ? 'Start it, or say with --url or TASK_GATEWAY_URL where it is.'
    : 'See "task-gateway doctor".';
}

/** The kit's options under the names they have on the command line. */
function speakPlainly(error: TaskGatewayError): string {
  const text = error.message
    .replaceAll(/\bbaseUrl\b/g, '--url')
    .replaceAll(/\badminAuth\b/g, '--admin-auth')
    .replaceAll(/^auth\b/g, '--auth')
    .replace(' Raise timeoutMs, or try again later.', ' Try again later.');
  return /[.!?)]$/.test(text) ? text : `${text}.`;
}
