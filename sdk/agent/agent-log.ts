/**
 * The log of an agent, for the person who runs it; on standard error unless the agent has a logger. It says
 * where the agent is registered and which tasks it takes, whether the gateway can be reached, which tasks
 * fail and why. Each entry stands alone, with a stack indented below it. The same failure in the same words
 * is logged once a minute.
 */
import { type Clock, readMonotonicMs } from '../clock.ts';
import type { AgentId } from '../contract.ts';
import { AbortError, WorkStoppedError } from '../errors.ts';
import type { Log, Logger } from '../log.ts';
import { isOutage } from './gateway-contact.ts';
import type { AgentNotice, LogEvent } from './log-events.ts';
import { escapeControls, readStack } from './thrown-text.ts';

export type AgentLogDeps = {
  readonly log: Log;
  readonly clock: Clock;
  readonly baseUrl: string;
  readonly tags: readonly string[];
  readonly maxConcurrent: number;
};

const OWN_ID = 'stop one of them, or give each an agent_id of its own';
const REPEAT_EVERY_MS = 60_000;
/** How many texts are remembered. */
const TEXTS_MAX = 100;
const TAGS_SHOWN = 8;

/** Creates the log of one agent: a function that takes its notices. */
export function createAgentLog(deps: AgentLogDeps): LogEvent {
  const { log, baseUrl } = deps;
  const isNews = createRepeats(deps.clock);
  let isRegistered = false;

  return (notice) => {
    const { level, text, ...fields } = describe(notice) ?? {};
    if (level) log(level, text ?? '', fields);
  };

  function describe(notice: AgentNotice): Entry | undefined {
    switch (notice.kind) {
      case 'registered': {
        const { agent_id, endpoint } = notice;
        const again = isRegistered ? 'registered again' : 'ready';
        isRegistered = true;
        return {
          level: 'info',
          text: `${again}: ${describeAgent(agent_id, endpoint, deps)}`,
          agent_id,
          endpoint,
        };
      }
      case 'unreachable':
        return {
          level: 'warn',
          text: `${messageOf(notice.error)}${describeSpan(notice.seconds)} The agent keeps trying.`,
        };
      case 'drained':
      case 'undrained': {
        const { kind, agent_id } = notice;
        return { level: 'info', text: describeDrain(kind), agent_id };
      }
      case 'replaces': {
        const { agent_id } = notice;
        const other = `agent ${agent_id} had a contact less than 30 s ago, under its registration before this one`;
        return { level: 'info', text: `${other}: if another process still runs, ${OWN_ID}`, agent_id };
      }
      case 'replaced': {
        const { agent_id } = notice;
        const text = `another process has registered as agent ${agent_id}, and replaces this one: ${OWN_ID}`;
        return { level: 'warn', text, agent_id };
      }
      case 'stopping': {
        const { tasks } = notice;
        const waits = `stopping, when ${tasks === 1 ? 'its task has' : `its ${tasks} tasks have`} ended`;
        return tasks === 0 ? undefined : { level: 'info', text: waits };
      }
      case 'unregistered': {
        const { agent_id } = notice;
        return { level: 'info', text: `stopped: agent ${agent_id} is unregistered`, agent_id };
      }
      case 'reached':
        return { level: 'info', text: `the gateway at ${baseUrl} responds again, after ${notice.seconds} s` };
      case 'failed': {
        const { request_id, task_type } = notice.task;
        const { error } = notice;
        const stack = error instanceof WorkStoppedError ? error.message : readStack(error);
        const [first = '', ...rest] = stack.split('\n');
        const text = `task ${request_id} (${task_type}) failed: ${first}`;
        const isShown = rest.length > 0 && isNews(stack);
        return { level: 'error', text, request_id, task_type, ...(isShown && { stack: rest.join('\n') }) };
      }
      case 'failure': {
        const text = `${notice.during}: ${messageOf(notice.error)}`;
        // An outage has a notice of its own. That the agent could not unregister is logged all the same.
        const isSaid = isOutage(notice.error) && notice.during !== 'unregister';
        return isSaid || !isNews(text) ? undefined : { level: 'warn', text };
      }
      case 'dropped': {
        const { request_id, reason } = notice;
        return { level: 'info', text: `task ${request_id} was dropped: ${reason}`, request_id };
      }
      case 'taken': {
        const { request_id, task_type } = notice.task;
        return { level: 'debug', text: `task ${request_id} (${task_type}) was taken`, request_id, task_type };
      }
      case 'reported': {
        const { request_id, status, accepted } = notice;
        const late = accepted ? '' : ', but it already had an outcome';
        return { level: 'debug', text: `task ${request_id} was reported: ${status}${late}`, request_id };
      }
    }
  }
}

type Entry = { readonly level: keyof Logger; readonly text: string } & Readonly<Record<string, unknown>>;

/** Returns the sentence about a drain of the administrator, or its end. */
export function describeDrain(kind: 'drained' | 'undrained'): string {
  return kind === 'drained'
    ? 'drained by the administrator: it finishes its tasks and gets no others'
    : 'no longer drained by the administrator: it gets tasks again';
}

function describeAgent(
  agent_id: AgentId,
  endpoint: string,
  { tags, maxConcurrent, baseUrl }: AgentLogDeps,
): string {
  const way = endpoint === 'pull' ? ', and claims its tasks' : `; its tasks are pushed to ${endpoint}`;
  return `agent ${agent_id} is registered at ${baseUrl} with ${describeSupply(tags, maxConcurrent)}${way}`;
}

/** Names an agent's tags, of many only the first ones, and its slots. */
export function describeSupply(tags: readonly string[], slots: number): string {
  const more = tags.length > TAGS_SHOWN ? ` and ${tags.length - TAGS_SHOWN} more` : '';
  const named = `the ${tags.length === 1 ? 'tag' : 'tags'} ${tags.slice(0, TAGS_SHOWN).join(', ')}${more}`;
  return `${tags.length === 0 ? 'no tags (so it gets no tasks)' : named} and ${slots} ${slots === 1 ? 'slot' : 'slots'}`;
}

function describeSpan(seconds: number): string {
  return seconds === 0 ? '' : ` That has lasted for ${seconds} s.`;
}

/** Returns the message of an error as a sentence. */
function messageOf(error: unknown): string {
  if (error instanceof AbortError) return 'There was no response in time.';
  const [text = ''] = (error instanceof Error ? error.message : readStack(error)).split('\n');
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** Creates a check for whether a text was said within the last minute; it notes that the text is said now. */
function createRepeats(clock: Clock): (text: string) => boolean {
  const saidMsOf = new Map<string, number>();
  return (text) => {
    const nowMs = readMonotonicMs(clock);
    if (nowMs - (saidMsOf.get(text) ?? Number.NEGATIVE_INFINITY) < REPEAT_EVERY_MS) return false;
    saidMsOf.delete(text);
    saidMsOf.set(text, nowMs);
    if (saidMsOf.size > TEXTS_MAX) saidMsOf.delete(saidMsOf.keys().next().value ?? text);
    return true;
  };
}

const COLOURS = { debug: 2, info: 32, warn: 33, error: 31 } as const;

/**
 * The logger of an agent that was given none: it writes lines on standard error, with colours on a terminal,
 * and escapes whatever a terminal would obey.
 */
export const stderrLogger: Logger = {
  debug: (message, fields) => write('debug', `${message} ${JSON.stringify(fields)}`),
  info: (message) => write('info', message),
  warn: (message) => write('warn', message),
  error: (message, { stack }) => write('error', message, typeof stack === 'string' ? stack : ''),
};

/** Writes with `console.error`, which a closed standard error does not harm. */
function write(level: keyof typeof COLOURS, message: string, stack = ''): void {
  const { stderr, env } = process;
  const hasColours = stderr.isTTY && !env.NO_COLOR && env.TERM !== 'dumb';
  const line = escapeControls(message).replaceAll('\n', '\\n');
  const shown = hasColours ? line.replace(/^[^:]*:/, `\u001b[${COLOURS[level]}m$&\u001b[0m`) : line;
  const below = stack === '' ? '' : `\n${escapeControls(stack).replace(/^ */gm, '    ')}`;
  console.error('%s', shown + below);
}
