/** Ids: which kind of thing each names, random ones that do not collide, and those that a path can hold. */
import { InvalidOptionError } from './errors.ts';

/** A string that names one kind of thing. It accepts any string except one that names another kind. */
type Id<Kind extends string> = string & { readonly __names?: Kind };

/** Names a task. Made by the gateway; opaque. */
export type RequestId = Id<'task'>;
/** Names an agent. Chosen by the agent's operator. */
export type AgentId = Id<'agent'>;
/** Names a session (`cli_session_id`), whose events one subscriber reads. Chosen by the client. */
export type SessionId = Id<'session'>;
/** A position in a session's stream of events. Made by the gateway; opaque. */
export type EventId = Id<'event'>;

/**
 * The kind of id that a field of this name holds; never, if it holds none. `id` is a filter: of tasks where one
 * can also filter by `agent`, else of agents.
 */
type IdIn<Field, Fields> = Field extends `${string}request_id${'' | 's'}`
  ? RequestId
  : Field extends `${string}agent_id` | 'agent'
    ? AgentId
    : Field extends 'cli_session_id' | 'session'
      ? SessionId
      : Field extends 'id'
        ? 'agent' extends keyof Fields
          ? RequestId
          : AgentId
        : never;
/** A type of the contract in which each id names its kind of thing, however deep it stands: by its field. */
export type WithIds<Value, Kind = never> = unknown extends Value
  ? Value
  : Value extends string
    ? WithKind<Value, Kind>
    : Value extends readonly unknown[]
      ? { [Index in keyof Value]: WithIds<Value[Index], Kind> }
      : Value extends object
        ? { [Field in keyof Value]: WithIds<Value[Field], IdIn<Field, Value>> }
        : Value;
type WithKind<Text, Kind> = [Kind] extends [never] ? Text : Kind;

/** Returns a random id of 128 bits. Outside a secure context browsers lack `randomUUID`. */
export function createId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Returns an id that a path can hold: a URL takes `.` and `..` for steps between folders. */
export function requireId(id: string): string {
  if (typeof id === 'string' && !/^\.{0,2}$/.test(id)) return id;
  throw new InvalidOptionError('An id must be a text other than "", "." and "..".');
}
