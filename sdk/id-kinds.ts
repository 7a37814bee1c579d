/**
 * Types by which ids of different things differ: the id of a task does not compile where an agent's is
 * expected. One rule finds every id of the contract by the name of its field.
 */

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
 * The kind of id that a field of this name holds; never, if it holds none. `id` is a filter: of tasks if one
 * can also filter by `agent`, otherwise of agents.
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
/** A type of the contract in which each id names its kind of thing, at any depth. */
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
