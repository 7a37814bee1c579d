/**
 * Each place where the SDK takes an id or gives one has the type of its kind, so that the ids of agents and
 * tasks do not mix. A text from elsewhere is taken everywhere. Nothing here runs: the type check is the test.
 */
import type { Agent, AgentNotice, AgentOptions, Handler } from '../../sdk/agent/index.ts';
import type {
  AgentId,
  RequestId,
  SessionId,
  SubscribeOptions,
  Task,
  TaskDone,
  TaskGatewayClient,
  TaskGatewayError,
} from '../../sdk/index.ts';
import type { runHandler } from '../../sdk/testing/index.ts';

/** True only for identical types, not for types that are merely assignable. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const isTrue = <T extends true>(): T | undefined => undefined;
/** Whether a place holds an id of this kind, or several. */
type Holds<Place, Id> = Same<
  NonNullable<Place> extends readonly (infer One)[] ? One : NonNullable<Place>,
  Id
>;

type Takes<Call extends keyof TaskGatewayClient> = NonNullable<Parameters<TaskGatewayClient[Call]>[0]>;
type Gives<Call extends keyof TaskGatewayClient> = NonNullable<Awaited<ReturnType<TaskGatewayClient[Call]>>>;
type Filter = NonNullable<Takes<'cancelTasks'>['filter']>;
type Registered = Gives<'registerAgent'>;
type Listed = Gives<'listTasks'>['tasks'][number];
type Overview = Gives<'getOverview'>;
type Explained = Gives<'explainTask'>;
type Notice<Kind extends AgentNotice['kind']> = Extract<AgentNotice, { readonly kind: Kind }>;

// The calls of tasks, and of agents.
isTrue<Holds<Takes<'getTask'>, RequestId>>();
isTrue<Holds<Takes<'cancelTask'>, RequestId>>();
isTrue<Holds<Takes<'explainTask'>, RequestId>>();
isTrue<Holds<Takes<'getAgent'>, AgentId>>();
isTrue<Holds<Takes<'unregisterAgent'>['agent_id'], AgentId>>();
isTrue<Holds<Takes<'registerAgent'>['agent_id'], AgentId>>();
isTrue<Holds<Takes<'heartbeatAgent'>['agent_id'], AgentId>>();
isTrue<Holds<Takes<'claimTask'>['agent_id'], AgentId>>();
// What an agent says of its tasks.
isTrue<Holds<Takes<'registerAgent'>['request_ids'], RequestId>>();
isTrue<Holds<Takes<'heartbeatAgent'>['request_ids'], RequestId>>();
isTrue<Holds<Takes<'claimTask'>['request_ids'], RequestId>>();
isTrue<Holds<Takes<'reportResult'>['request_id'], RequestId>>();
isTrue<Holds<Takes<'reportResult'>['agent_id'], AgentId>>();
// The sessions, and the filters.
isTrue<Holds<Takes<'subscribeEvents'>, SessionId>>();
isTrue<Holds<Takes<'submitTask'>['cli_session_id'], SessionId>>();
isTrue<Holds<Takes<'listTasks'>['agent'], AgentId>>();
isTrue<Holds<Takes<'listTasks'>['id'], RequestId>>();
isTrue<Holds<Takes<'listTasks'>['session'], SessionId>>();
isTrue<Holds<Filter['agent'], AgentId>>();
isTrue<Holds<Takes<'cancelTasks'>['request_ids'], RequestId>>();
isTrue<Holds<Takes<'listAgents'>['id'], AgentId>>();
// The responses.
isTrue<Holds<Gives<'cancelTask'>['request_id'], RequestId>>();
isTrue<Holds<Gives<'reportResult'>['request_id'], RequestId>>();
isTrue<Holds<Registered['agent_id'], AgentId>>();
isTrue<Holds<Registered['cancelled_request_ids'], RequestId>>();
isTrue<Holds<Gives<'heartbeatAgent'>['cancelled_request_ids'], RequestId>>();
// The listings, and what stands deep in them.
isTrue<Holds<Gives<'listAgents'>['agents'][number]['agent_id'], AgentId>>();
isTrue<Holds<Listed['agent_id'], AgentId>>();
isTrue<Holds<Listed['cli_session_id'], SessionId>>();
isTrue<Holds<Overview['oldest_waiting'][number]['request_id'], RequestId>>();
isTrue<Holds<Overview['problems'][number]['agent_id'], AgentId>>();
isTrue<Holds<NonNullable<Explained['match']>['agents'][number]['agent_id'], AgentId>>();
isTrue<Holds<Explained['history'][number]['agent_id'], AgentId>>();
isTrue<Holds<Gives<'getAgent'>['slots'][number]['request_id'], RequestId>>();
isTrue<Holds<Gives<'getAgent'>['pushes'][number]['request_id'], RequestId>>();
// Tasks, events and errors.
isTrue<Holds<Task['agent_id'], AgentId>>();
isTrue<Holds<Task['cli_session_id'], SessionId>>();
isTrue<Holds<TaskDone['request_id'], RequestId>>();
isTrue<Holds<TaskGatewayError['request_id'], RequestId>>();
isTrue<Holds<TaskGatewayError['cli_session_id'], SessionId>>();
// The agent, its notices, its handler, and one that is run by itself.
isTrue<Holds<AgentOptions['agentId'], AgentId>>();
isTrue<Holds<Agent['agentId'], AgentId>>();
isTrue<Holds<Notice<'registered'>['agent_id'], AgentId>>();
isTrue<Holds<Notice<'dropped' | 'reported'>['request_id'], RequestId>>();
isTrue<Holds<Parameters<Handler>[0]['request_id'], RequestId>>();
isTrue<Holds<NonNullable<NonNullable<Parameters<typeof runHandler>[1]>['request_id']>, RequestId>>();

/** The kinds do not mix; a text from elsewhere is taken everywhere, and an id is a text. */
export function mix(task: RequestId, agent: AgentId, session: SessionId, text: string): readonly string[] {
  const named: [RequestId, AgentId, SessionId] = [text, text, text];
  // @ts-expect-error An agent is not a task.
  named[0] = agent;
  // @ts-expect-error A task is not an agent.
  named[1] = task;
  // @ts-expect-error A task is not a session.
  named[2] = task;
  // @ts-expect-error A session is not a task.
  named[0] = session;
  const position: SubscribeOptions['lastEventId'] = text;
  return [...named, position, task.slice(-8)];
}
