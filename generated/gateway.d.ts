// Generated from the contract. Do not edit: change the TypeSpec sources and generate again.

export interface paths {
    "/api/cli/tasks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Submit a task
         * @description Hands in a task (§4.1) and answers it as it is at that moment, `pending`, even when an agent is free; matching
         *     follows right after. To hear of its end by stream, subscribe to `cli_session_id` first.
         *
         *     A repeat with the same `Idempotency-Key` and content gets the first answer again and creates nothing; without
         *     the header every call creates a task. On 503 `busy` send it again after `Retry-After`; on 503
         *     `store_unavailable`, on 500 and when no answer came, the task may have been created: repeat with the header.
         */
        post: operations["submitTask"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/cli/tasks/{request_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a task
         * @description Answers a task (§4.3). With `wait` the answer is held back until the task has ended, or the time is over and it
         *     is answered as it then is. Safe to repeat. A task is kept for 24 hours after its end.
         */
        get: operations["getTask"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/cli/tasks/{request_id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a task
         * @description Ends a pending or running task as `failed` with `cancelled by user` (§4.4); a `task_done` event follows. Needs no
         *     body; whatever is sent as one is not read. The agent learns of it in `cancelled_request_ids`. A task that has
         *     ended is left as it is: 400.
         */
        post: operations["cancelTask"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/cli/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Subscribe to completion events
         * @description Streams the `task_done` events of a session (§4.2): first those stored, then live ones, in the order in which the
         *     tasks ended. Long-lived; subscribe before submitting. Events are kept for 24 hours, 100,000 a session. Never cached,
         *     compressed or buffered (`Cache-Control: no-store, no-transform`, `X-Accel-Buffering: no`).
         *
         *     After a break reconnect with the last `id` as `Last-Event-ID` (`EventSource` does): the stream goes on behind it.
         *     An id unknown to the session gets everything again: a repeat is better than a loss, so tell them apart by
         *     `request_id`. A reader that takes nothing for 30 seconds is disconnected. If the stream is unavailable, poll
         *     the task.
         */
        get: operations["subscribeEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agent/claim": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Claim a task
         * @description Hands the next task to an agent that registered with `endpoint: pull`: the oldest of its assignments not yet
         *     acknowledged and not handed out in the last 15 seconds. 204 when there was none within `wait` seconds: ask again.
         *     A task is delivered at least once: report it, or name it in `request_ids`, or it is handed out again. On 404
         *     register again.
         */
        post: operations["claimTask"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agent/heartbeat": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Beat
         * @description Says that the agent lives (§4.6), and with a right `auth` how loaded it is. Call it every `heartbeat_interval`
         *     seconds. On 404 register again; on 503 go on beating.
         */
        post: operations["heartbeatAgent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agent/register": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Register an agent
         * @description Registers an agent, or registers it again (§4.5): the last registration wins, tasks in flight keep running. Call it
         *     at start, and whenever a heartbeat is answered 404.
         */
        post: operations["registerAgent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agent/result": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Report a result
         * @description Reports how a task goes or how it ended (§4.7). Repeat it until it is answered: a repeat is harmless and answered
         *     `accepted: false`. On 404 `task_not_found` and on 400 `agent_mismatch` drop the report; on 404 `agent_not_found`
         *     register, then report again.
         */
        post: operations["reportResult"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agent/unregister": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Unregister an agent
         * @description Takes an agent out (§4.8): it gets no more tasks. What it never took moves to another agent at once, what it may
         *     have taken after 90 seconds; what it acknowledged stays its own until reported or timed out. Unknown: 404,
         *     nothing is left to do.
         */
        post: operations["unregisterAgent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/admin/agents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List agents
         * @description Lists all registered agents (§4.9), to see why a task finds none: their tags, their state, whether they are full.
         */
        get: operations["listAgents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/admin/tasks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List tasks
         * @description Lists tasks, newest first, page by page. Filters go together: a task is listed when all of them hold. One call looks
         *     at no more than 1,000 tasks, so a page may be short or empty while `next_cursor` is not null: go on with it.
         */
        get: operations["listTasks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description An agent takes its leave. */
        AgentDeparture: {
            /** @description The gateway secret. Optional unless the gateway is set to ask agents for it; a wrong one is refused. */
            auth?: components["schemas"]["Secret"];
            /** @description The agent. */
            agent_id: components["schemas"]["Name"];
        };
        /** @description A sign of life. The optional fields count only with a right `auth`. */
        AgentHeartbeat: {
            /** @description The gateway secret. Optional unless the gateway is set to ask agents for it; a wrong one is refused. */
            auth?: components["schemas"]["Secret"];
            /** @description The agent. */
            agent_id: components["schemas"]["Name"];
            /**
             * Format: int64
             * @description How much it has to do now, tasks of the gateway included.
             */
            current_load?: number;
            /** @description The tasks it has accepted and not yet reported; acknowledges those assigned to it. */
            request_ids?: components["schemas"]["RequestIds"];
            /** @description True: no more tasks, please. Stays so until `false` or the next registration. */
            draining?: boolean;
        };
        /** @description An agent as the administrator sees it. No secret is ever listed. */
        AgentListing: {
            /** @description The agent. */
            agent_id: components["schemas"]["Name"];
            /** @description Where tasks are pushed to, or `pull`. */
            endpoint: string;
            /** @description Its tags. */
            agent_tags: components["schemas"]["Tags"];
            /** @description Its state now. */
            state: components["schemas"]["AgentState"];
            /** @description Whether its load is at or above its maximum. */
            full: boolean;
            /** @description Whether it would get a task now: `ready` or `processing`, and not full. */
            eligible: boolean;
            /**
             * Format: int32
             * @description How many tasks it runs at once.
             */
            max_concurrent: number;
            /**
             * Format: int64
             * @description Tasks of the gateway and load from elsewhere together.
             */
            current_load: number;
            /**
             * Format: int32
             * @description How many tasks of the gateway it has.
             */
            running: number;
            /** @description The first 100 of them. */
            running_request_ids: components["schemas"]["RequestId"][];
            /** @description When it registered last. */
            registered_time: components["schemas"]["EpochSeconds"];
            /** @description When it called, or acknowledged a push, last. */
            last_contact_time: components["schemas"]["EpochSeconds"];
            /** @description How the last push to it went. */
            push: components["schemas"]["LastPush"];
        };
        /** @description All registered agents. */
        AgentListings: {
            /** @description One entry each. */
            agents: components["schemas"]["AgentListing"][];
            /**
             * Format: int32
             * @description How many there are.
             */
            total: number;
        };
        /** @description An agent's registration (§2.4). */
        AgentRegistration: {
            /** @description The gateway secret. */
            auth: components["schemas"]["Secret"];
            /** @description The agent's own name for itself, stable across restarts. */
            agent_id: components["schemas"]["Name"];
            /**
             * @description Where tasks are pushed to: an absolute `http` or `https` URL without user and password, called exactly as given.
             *     Or the word `pull`: then nothing is pushed and the agent claims its tasks.
             */
            endpoint: string;
            /** @description What it can do: it gets tasks that share at least one tag. */
            agent_tags: components["schemas"]["Tags"];
            /**
             * Format: int32
             * @description How many tasks it runs at once; with 0 it gets none.
             * @default 1
             */
            max_concurrent?: number;
            /**
             * Format: int64
             * @description How much it has to do now, tasks of the gateway included. At or above `max_concurrent` it is full. What is not
             *     explained by tasks of the gateway counts as load from elsewhere.
             * @default 0
             */
            current_load?: number;
            /**
             * @description The tasks it has accepted and not yet reported. Tasks assigned to it are acknowledged by being named here; those
             *     acknowledged before and not named are pushed again. Makes the load from elsewhere exact.
             */
            request_ids?: components["schemas"]["RequestIds"];
            /**
             * Format: double
             * @description Seconds without contact after which its running tasks end as `failed` with `agent lost: no contact for N s`.
             *     Without it they run on until reported or timed out.
             */
            lost_after?: number;
        };
        /**
         * @description An agent's standing: `ready` (runs no task) and `processing` (runs some) get tasks unless full, `draining` (asked for
         *     no more) and `offline` (silent for too long, or answered 410) get none. Being full is no state.
         * @enum {string}
         */
        AgentState: "ready" | "processing" | "draining" | "offline";
        /**
         * @description The request can't be served as it is. `malformed_body`: not JSON, a byte-order mark or invalid UTF-8; send the
         *     body again as UTF-8. `agent_id_missing`: say which agent calls. `agent_mismatch`: the task was never assigned to
         *     this agent (for `running`: is not now); drop it. `task_terminal`: the task has ended before; read it instead.
         */
        BadRequest: {
            /** @description `urn:task-gateway:problem:` and the code. */
            type: string;
            /** @description The problem in a few words; the same for every problem of this code. */
            title: string;
            /**
             * @description The HTTP status of the answer.
             * @enum {number}
             */
            status: 400;
            /** @description One sentence about this very request: what is wrong and what to send instead. */
            detail: string;
            /**
             * @description What to branch on: stable within a major version.
             * @enum {string}
             */
            code: "malformed_body" | "agent_id_missing" | "agent_mismatch" | "task_terminal";
        };
        /** @description The task is cancelled: state, event and freed slot are stored. */
        CancelReceipt: {
            /**
             * @description Always true.
             * @enum {boolean}
             */
            ok: true;
            /** @description The cancelled task. */
            request_id: components["schemas"]["RequestId"];
        };
        /** @description The agent is unregistered. */
        DepartureReceipt: {
            /**
             * @description Always true.
             * @enum {boolean}
             */
            ok: true;
            /** @description The agent. */
            agent_id: components["schemas"]["Name"];
        };
        /**
         * Format: double
         * @description A moment: Unix epoch seconds, decimal, with the precision of a millisecond.
         */
        EpochSeconds: number;
        /**
         * @description Server-sent events in UTF-8. First `retry: 2000` and a comment, then per task one frame: an `id:` line, one `data:`
         *     line with a `TaskDone` as JSON, an empty line. There is no `event:` line, so `EventSource.onmessage` gets them.
         *     A comment (`: ping`) comes every 15 seconds; the comment `: gap` says that older events were trimmed away.
         */
        EventFrames: string;
        /** @description One thing that is wrong in a request. */
        FieldError: {
            /**
             * @description JSON Pointer (RFC 6901) to the value in the body; empty for the body itself. For a query parameter or a header:
             *     `/` and its name.
             */
            pointer: string;
            /** @description What is wrong with it and what to send. */
            detail: string;
        };
        /** @description Any JSON object. Its keys pass through untouched; nesting counts towards the limits of a body. */
        FreeForm: {
            [key: string]: unknown;
        };
        /** @description The gateway has heard the agent. */
        HeartbeatReceipt: {
            /**
             * @description Always true.
             * @enum {boolean}
             */
            ok: true;
            /** @description The agent. */
            agent_id: components["schemas"]["Name"];
            /** @description Its state now. */
            state: components["schemas"]["AgentState"];
            /**
             * @description Tasks the agent may stop working on. With `request_ids` in the call: those of them that have ended or are no
             *     longer its own; without: those assigned to it that ended without its report in the last 10 minutes. At most
             *     1,000.
             */
            cancelled_request_ids: components["schemas"]["RequestIds"];
        };
        /**
         * Format: int32
         * @description The status of an HTTP answer.
         */
        HttpStatus: number;
        /**
         * @description A fault of the gateway. Nothing is said of its cause; repeat with care (submit: with the same `Idempotency-Key`).
         * @example {
         *       "type": "urn:task-gateway:problem:internal",
         *       "title": "Internal error",
         *       "status": 500,
         *       "detail": "The gateway failed to answer. The cause is in its log.",
         *       "code": "internal"
         *     }
         */
        InternalError: {
            /** @description `urn:task-gateway:problem:` and the code. */
            type: string;
            /** @description The problem in a few words; the same for every problem of this code. */
            title: string;
            /**
             * @description The HTTP status of the answer.
             * @enum {number}
             */
            status: 500;
            /** @description One sentence about this very request: what is wrong and what to send instead. */
            detail: string;
            /**
             * @description What to branch on: stable within a major version.
             * @enum {string}
             */
            code: "internal";
        };
        /** @description How the last push to an agent went. */
        LastPush: {
            /** @description The HTTP status the agent answered; null if none came or nothing was pushed yet. */
            last_status: components["schemas"]["HttpStatus"] | null;
            /** @description Why it failed, for people; null if it did not. */
            last_error: string | null;
        };
        /**
         * @description A name given by a client or an agent: 1 to 256 code points of well-formed Unicode (no lone surrogate), compared
         *     character for character.
         */
        Name: string;
        /**
         * @description It does not exist. `task_not_found`: never submitted here, or ended longer ago than tasks are kept (24 hours).
         *     `agent_not_found`: not registered; an agent registers again.
         */
        NotFound: {
            /** @description `urn:task-gateway:problem:` and the code. */
            type: string;
            /** @description The problem in a few words; the same for every problem of this code. */
            title: string;
            /**
             * @description The HTTP status of the answer.
             * @enum {number}
             */
            status: 404;
            /** @description One sentence about this very request: what is wrong and what to send instead. */
            detail: string;
            /**
             * @description What to branch on: stable within a major version.
             * @enum {string}
             */
            code: "task_not_found" | "agent_not_found";
        };
        /**
         * @description The body is larger than 4 MiB. Keep large data elsewhere and send a reference to it.
         * @example {
         *       "type": "urn:task-gateway:problem:payload_too_large",
         *       "title": "Payload too large",
         *       "status": 413,
         *       "detail": "The body is larger than 4194304 bytes. Keep large data elsewhere and send a reference to it.",
         *       "code": "payload_too_large"
         *     }
         */
        PayloadTooLarge: {
            /** @description `urn:task-gateway:problem:` and the code. */
            type: string;
            /** @description The problem in a few words; the same for every problem of this code. */
            title: string;
            /**
             * @description The HTTP status of the answer.
             * @enum {number}
             */
            status: 413;
            /** @description One sentence about this very request: what is wrong and what to send instead. */
            detail: string;
            /**
             * @description What to branch on: stable within a major version.
             * @enum {string}
             */
            code: "payload_too_large";
        };
        /** @description The agent is registered. */
        RegistrationReceipt: {
            /**
             * @description Always true.
             * @enum {boolean}
             */
            ok: true;
            /** @description The agent. */
            agent_id: components["schemas"]["Name"];
            /** @description Its state now. */
            state: components["schemas"]["AgentState"];
            /**
             * Format: double
             * @description Seconds between heartbeats the gateway asks for.
             */
            heartbeat_interval: number;
            /**
             * Format: double
             * @description Seconds of silence after which an agent that beats at this interval counts as `offline`.
             */
            offline_after: number;
            /** @description Tasks the agent may stop working on: they have ended or are no longer its own. At most 1,000. */
            cancelled_request_ids: components["schemas"]["RequestIds"];
        };
        /** @description The gateway has the report. */
        ReportReceipt: {
            /**
             * @description Always true.
             * @enum {boolean}
             */
            ok: true;
            /** @description The task. */
            request_id: components["schemas"]["RequestId"];
            /** @description Where the task stands now. */
            status: components["schemas"]["TaskStatus"];
            /** @description False when the task had ended before (a late or repeated report): nothing changed. No reason to repeat. */
            accepted: boolean;
        };
        /** @description The gateway's id of a task: a UUIDv7 today, opaque to clients. */
        RequestId: string;
        /** @description The tasks an agent has accepted and not yet reported with an answer, at most 1,000. */
        RequestIds: components["schemas"]["RequestId"][];
        /**
         * Format: password
         * @description The gateway secret as a field of a JSON body (§5). A wrong one is answered 401, a missing one 422.
         */
        Secret: string;
        /**
         * @description Not now; send it again after `Retry-After`. `busy`: 100,000 tasks are open, or 20,000 agents registered, and
         *     nothing was changed. `store_unavailable`: the store does not answer; whether a change was made is not known.
         * @example {
         *       "type": "urn:task-gateway:problem:store_unavailable",
         *       "title": "Store unavailable",
         *       "status": 503,
         *       "detail": "The store does not answer. Send it again after `Retry-After`.",
         *       "code": "store_unavailable"
         *     }
         */
        ServiceUnavailable: {
            /** @description `urn:task-gateway:problem:` and the code. */
            type: string;
            /** @description The problem in a few words; the same for every problem of this code. */
            title: string;
            /**
             * @description The HTTP status of the answer.
             * @enum {number}
             */
            status: 503;
            /** @description One sentence about this very request: what is wrong and what to send instead. */
            detail: string;
            /**
             * @description What to branch on: stable within a major version.
             * @enum {string}
             */
            code: "busy" | "store_unavailable";
        };
        /** @description A client session: up to 256 code points of well-formed Unicode. Empty means none: such a task has no stream. */
        SessionId: string;
        /** @description The tags of a task or an agent: at most 64, exact and case-sensitive, no trimming. May be empty. */
        Tags: components["schemas"]["Name"][];
        /** @description What an agent asks for with a claim. */
        TaskClaim: {
            /** @description The gateway secret. */
            auth: components["schemas"]["Secret"];
            /** @description The agent, registered with `endpoint: pull`. */
            agent_id: components["schemas"]["Name"];
            /**
             * Format: double
             * @description Seconds to wait for a task if there is none.
             * @default 0
             */
            wait?: number;
            /** @description The tasks it has accepted and not yet reported; acknowledges those assigned to it. */
            request_ids?: components["schemas"]["RequestIds"];
        };
        /** @description A task has ended. Exactly one such event per task, equal to what `getTask` answers. */
        TaskDone: {
            /**
             * @description The one kind of event.
             * @enum {string}
             */
            event: "task_done";
            /** @description The task that ended. */
            request_id: components["schemas"]["RequestId"];
            /**
             * @description How: `failed` includes cancellation and timeout.
             * @enum {string}
             */
            status: "success" | "failed";
            /** @description An object on `success`, otherwise null. */
            result: components["schemas"]["TaskResult"] | null;
            /** @description Why it failed, otherwise null; the same text as in the task. */
            error_info: string | null;
        };
        /** @description A task as everybody sees it: these twelve fields, everywhere. */
        TaskInfo: {
            /** @description Assigned by the gateway; names the task in paths and events. */
            request_id: components["schemas"]["RequestId"];
            /** @description What kind of task it is, as submitted. */
            task_type: components["schemas"]["Name"];
            /** @description Matched against the tags of agents, as submitted. */
            task_tags: components["schemas"]["Tags"];
            /** @description Free-form, as submitted. */
            payload: components["schemas"]["FreeForm"];
            /** @description Where the task stands. */
            status: components["schemas"]["TaskStatus"];
            /** @description The agent it is assigned to; null until one is. Stays when the task ends. */
            agent_id: components["schemas"]["Name"] | null;
            /** @description The session whose stream gets the task's end; empty for none. */
            cli_session_id: components["schemas"]["SessionId"];
            /** @description When it was submitted: Unix epoch seconds, decimal, with the precision of a millisecond. */
            create_time: components["schemas"]["EpochSeconds"];
            /**
             * Format: double
             * @description Seconds from `create_time` until it ends as `timeout`, as submitted.
             */
            timeout: number;
            /**
             * Format: int32
             * @description 0 to 100, initially 0. Never falls.
             */
            progress: number;
            /** @description An object on `success`, otherwise null. */
            result: components["schemas"]["TaskResult"] | null;
            /**
             * @description Why it failed, otherwise null: `cancelled by user`, `timeout`, `无可用 Agent` (no agent qualified: no tag in
             *     common, wrong state, or full), `agent lost: no contact for N s`, or the agent's own words.
             */
            error_info: string | null;
        };
        /** @description A page of tasks. */
        TaskPage: {
            /** @description Newest first by `create_time`, then `request_id`. May be short or empty although more follow. */
            tasks: components["schemas"]["TaskInfo"][];
            /** @description What to send as `cursor` for the next page; null when there is none. */
            next_cursor: string | null;
        };
        /** @description How a task goes, or how it ended. */
        TaskReport: {
            /** @description The gateway secret. Optional unless the gateway is set to ask agents for it; a wrong one is refused. */
            auth?: components["schemas"]["Secret"];
            /** @description The task. */
            request_id: components["schemas"]["RequestId"];
            /** @description The agent that worked on it. */
            agent_id: components["schemas"]["Name"];
            /**
             * @description `success` and `failed` end the task; `running` only tells of its progress.
             * @enum {string}
             */
            status: "success" | "failed" | "running";
            /**
             * Format: int32
             * @description 0 to 100. Never falls; counts only from the agent that has the task now. On `success` it becomes 100.
             */
            progress?: number;
            /**
             * @description On `success` the result; null or absent is stored as `{}`. On `running` its `reply` is kept for the final result.
             *     On `failed` it is dropped.
             */
            result?: components["schemas"]["TaskResult"] | null;
            /** @description On `failed` the reason, for people; null or absent becomes `agent reported failure`. */
            error_info?: string | null;
        };
        /**
         * @description What an agent's work came to. The gateway knows two keys and passes all others through untouched. An agent may
         *     send only `output`, or nothing at all: then the result is `{}`.
         */
        TaskResult: {
            /** @description The agent's first complete reply after accepting the task. */
            reply?: string;
            /** @description The agent's final summary after finishing. */
            output?: string;
        } & {
            [key: string]: unknown;
        };
        /**
         * @description Where a task stands: `pending` (queued, no agent yet), `running` (assigned to an agent), `success`, or `failed`
         *     (failed, cancelled or timed out). The last two are the end: such a task never changes again.
         * @enum {string}
         */
        TaskStatus: "pending" | "running" | "success" | "failed";
        /** @description What a client hands in. */
        TaskSubmission: {
            /** @description The gateway secret. Needed here even when it is also given in the query or a header. */
            auth: components["schemas"]["Secret"];
            /** @description What kind of task it is; handed to the agent, not interpreted. */
            task_type: components["schemas"]["Name"];
            /**
             * @description The tags to match: an agent qualifies with at least one of them. With `[]` none does, and the task ends as
             *     `failed` with `无可用 Agent`.
             */
            task_tags: components["schemas"]["Tags"];
            /** @description What the agent is to work on. A number too large for a double is refused. */
            payload: components["schemas"]["FreeForm"];
            /**
             * @description The session whose stream gets the task's end, exactly as it was used to subscribe. Without it: no stream.
             * @default
             */
            cli_session_id?: components["schemas"]["SessionId"];
            /**
             * Format: double
             * @description Seconds from submission until the task ends as `timeout`, waiting and running together; decimals allowed.
             *     Echoed as sent, enforced at 604,800 (7 days) at most.
             * @default 600
             */
            timeout?: number;
            /**
             * Format: double
             * @description Seconds from submission the task may wait for an agent before it fails with `无可用 Agent`. Without it a task
             *     for which no agent is free fails at once. Never waits past `timeout`, which wins a tie.
             */
            queue_timeout?: number;
        };
        /**
         * @description Too many open streams, of this session (100) or in all (20,000). Close some, or wait as `Retry-After` says.
         * @example {
         *       "type": "urn:task-gateway:problem:too_many_streams",
         *       "title": "Too many streams",
         *       "status": 429,
         *       "detail": "This session has 100 open streams. Close one before opening another.",
         *       "code": "too_many_streams"
         *     }
         */
        TooManyRequests: {
            /** @description `urn:task-gateway:problem:` and the code. */
            type: string;
            /** @description The problem in a few words; the same for every problem of this code. */
            title: string;
            /**
             * @description The HTTP status of the answer.
             * @enum {number}
             */
            status: 429;
            /** @description One sentence about this very request: what is wrong and what to send instead. */
            detail: string;
            /**
             * @description What to branch on: stable within a major version.
             * @enum {string}
             */
            code: "too_many_streams";
        };
        /**
         * @description The secret is wrong or absent where it belongs (§5). Repeating does not help: configure the right secret.
         * @example {
         *       "type": "urn:task-gateway:problem:unauthorized",
         *       "title": "Unauthorized",
         *       "status": 401,
         *       "detail": "The secret is wrong or missing. Send the right one where this call takes it.",
         *       "code": "unauthorized"
         *     }
         */
        Unauthorized: {
            /** @description `urn:task-gateway:problem:` and the code. */
            type: string;
            /** @description The problem in a few words; the same for every problem of this code. */
            title: string;
            /**
             * @description The HTTP status of the answer.
             * @enum {number}
             */
            status: 401;
            /** @description One sentence about this very request: what is wrong and what to send instead. */
            detail: string;
            /**
             * @description What to branch on: stable within a major version.
             * @enum {string}
             */
            code: "unauthorized";
        };
        /**
         * @description Fields are missing or of a wrong type or size (`validation_failed`), or the `Idempotency-Key` was used before with
         *     another content (`idempotency_conflict`: take a fresh key). Mend what `errors` names; repeating does not help.
         */
        Unprocessable: {
            /** @description `urn:task-gateway:problem:` and the code. */
            type: string;
            /** @description The problem in a few words; the same for every problem of this code. */
            title: string;
            /**
             * @description The HTTP status of the answer.
             * @enum {number}
             */
            status: 422;
            /** @description One sentence about this very request: what is wrong and what to send instead. */
            detail: string;
            /**
             * @description What to branch on: stable within a major version.
             * @enum {string}
             */
            code: "validation_failed" | "idempotency_conflict";
            /** @description Everything that is wrong, one entry each. */
            errors: components["schemas"]["FieldError"][];
        };
        /**
         * @description The body comes with a `Content-Encoding`, or from a web page (a request with an `Origin` header) without
         *     `Content-Type: application/json`. Everybody else's body is read as JSON whatever its header says.
         * @example {
         *       "type": "urn:task-gateway:problem:unsupported_media_type",
         *       "title": "Unsupported media type",
         *       "status": 415,
         *       "detail": "Compressed bodies are not read. Send the body without Content-Encoding.",
         *       "code": "unsupported_media_type"
         *     }
         */
        UnsupportedMediaType: {
            /** @description `urn:task-gateway:problem:` and the code. */
            type: string;
            /** @description The problem in a few words; the same for every problem of this code. */
            title: string;
            /**
             * @description The HTTP status of the answer.
             * @enum {number}
             */
            status: 415;
            /** @description One sentence about this very request: what is wrong and what to send instead. */
            detail: string;
            /**
             * @description What to branch on: stable within a major version.
             * @enum {string}
             */
            code: "unsupported_media_type";
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: {
        /**
         * @description The version of the contract the gateway speaks. It is additive within a major version.
         * @example 1.0.0
         */
        "Task-Gateway-Version": string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    submitTask: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A text of the client's choice, one per task it means: 1 to 255 printable ASCII characters. Kept for 24 hours
                 *     from its first use. Compared are the accepted fields but `auth`; another content is refused with 422.
                 */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TaskSubmission"];
            };
        };
        responses: {
            /** @description The task as it is at submission. */
            200: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskInfo"];
                };
            };
            /**
             * @description The request can't be served as it is. `malformed_body`: not JSON, a byte-order mark or invalid UTF-8; send the
             *     body again as UTF-8. `agent_id_missing`: say which agent calls. `agent_mismatch`: the task was never assigned to
             *     this agent (for `running`: is not now); drop it. `task_terminal`: the task has ended before; read it instead.
             */
            400: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["BadRequest"];
                };
            };
            /** @description The secret is wrong or absent where it belongs (§5). Repeating does not help: configure the right secret. */
            401: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Unauthorized"];
                };
            };
            /** @description The body is larger than 4 MiB. Keep large data elsewhere and send a reference to it. */
            413: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["PayloadTooLarge"];
                };
            };
            /**
             * @description The body comes with a `Content-Encoding`, or from a web page (a request with an `Origin` header) without
             *     `Content-Type: application/json`. Everybody else's body is read as JSON whatever its header says.
             */
            415: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["UnsupportedMediaType"];
                };
            };
            /**
             * @description Fields are missing or of a wrong type or size (`validation_failed`), or the `Idempotency-Key` was used before with
             *     another content (`idempotency_conflict`: take a fresh key). Mend what `errors` names; repeating does not help.
             */
            422: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Unprocessable"];
                };
            };
            /** @description A fault of the gateway. Nothing is said of its cause; repeat with care (submit: with the same `Idempotency-Key`). */
            500: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["InternalError"];
                };
            };
            /**
             * @description Not now; send it again after `Retry-After`. `busy`: 100,000 tasks are open, or 20,000 agents registered, and
             *     nothing was changed. `store_unavailable`: the store does not answer; whether a change was made is not known.
             */
            503: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    /**
                     * @description Whole seconds after which the same request may be sent again.
                     * @example 2
                     */
                    "Retry-After": number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ServiceUnavailable"];
                };
            };
        };
    };
    getTask: {
        parameters: {
            query?: {
                /** @description Seconds to wait for the task's end; over 60 counts as 60. */
                wait?: number;
            };
            header?: never;
            path: {
                /** @description The task's id as `submitTask` answered it. */
                request_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The task as it is now. */
            200: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskInfo"];
                };
            };
            /** @description The secret is wrong or absent where it belongs (§5). Repeating does not help: configure the right secret. */
            401: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Unauthorized"];
                };
            };
            /**
             * @description It does not exist. `task_not_found`: never submitted here, or ended longer ago than tasks are kept (24 hours).
             *     `agent_not_found`: not registered; an agent registers again.
             */
            404: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["NotFound"];
                };
            };
            /**
             * @description Fields are missing or of a wrong type or size (`validation_failed`), or the `Idempotency-Key` was used before with
             *     another content (`idempotency_conflict`: take a fresh key). Mend what `errors` names; repeating does not help.
             */
            422: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Unprocessable"];
                };
            };
            /** @description A fault of the gateway. Nothing is said of its cause; repeat with care (submit: with the same `Idempotency-Key`). */
            500: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["InternalError"];
                };
            };
            /**
             * @description Not now; send it again after `Retry-After`. `busy`: 100,000 tasks are open, or 20,000 agents registered, and
             *     nothing was changed. `store_unavailable`: the store does not answer; whether a change was made is not known.
             */
            503: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    /**
                     * @description Whole seconds after which the same request may be sent again.
                     * @example 2
                     */
                    "Retry-After": number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ServiceUnavailable"];
                };
            };
        };
    };
    cancelTask: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The task's id as `submitTask` answered it. */
                request_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The task is cancelled. */
            200: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CancelReceipt"];
                };
            };
            /**
             * @description The request can't be served as it is. `malformed_body`: not JSON, a byte-order mark or invalid UTF-8; send the
             *     body again as UTF-8. `agent_id_missing`: say which agent calls. `agent_mismatch`: the task was never assigned to
             *     this agent (for `running`: is not now); drop it. `task_terminal`: the task has ended before; read it instead.
             */
            400: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["BadRequest"];
                };
            };
            /** @description The secret is wrong or absent where it belongs (§5). Repeating does not help: configure the right secret. */
            401: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Unauthorized"];
                };
            };
            /**
             * @description It does not exist. `task_not_found`: never submitted here, or ended longer ago than tasks are kept (24 hours).
             *     `agent_not_found`: not registered; an agent registers again.
             */
            404: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["NotFound"];
                };
            };
            /** @description A fault of the gateway. Nothing is said of its cause; repeat with care (submit: with the same `Idempotency-Key`). */
            500: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["InternalError"];
                };
            };
            /**
             * @description Not now; send it again after `Retry-After`. `busy`: 100,000 tasks are open, or 20,000 agents registered, and
             *     nothing was changed. `store_unavailable`: the store does not answer; whether a change was made is not known.
             */
            503: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    /**
                     * @description Whole seconds after which the same request may be sent again.
                     * @example 2
                     */
                    "Retry-After": number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ServiceUnavailable"];
                };
            };
        };
    };
    subscribeEvents: {
        parameters: {
            query: {
                /** @description The session, character for character as its tasks are submitted. One nobody used yet is an idle stream. */
                cli_session_id: components["schemas"]["Name"];
                /** @description As the header `Last-Event-ID`, for clients that can't send one. The header wins. */
                last_event_id?: string;
            };
            header?: {
                /** @description The `id` of the last event the client has seen. */
                "Last-Event-ID"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The stream; it stays open. */
            200: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["EventFrames"];
                };
            };
            /** @description The secret is wrong or absent where it belongs (§5). Repeating does not help: configure the right secret. */
            401: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Unauthorized"];
                };
            };
            /**
             * @description Fields are missing or of a wrong type or size (`validation_failed`), or the `Idempotency-Key` was used before with
             *     another content (`idempotency_conflict`: take a fresh key). Mend what `errors` names; repeating does not help.
             */
            422: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Unprocessable"];
                };
            };
            /** @description Too many open streams, of this session (100) or in all (20,000). Close some, or wait as `Retry-After` says. */
            429: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    /**
                     * @description Whole seconds after which the same request may be sent again.
                     * @example 2
                     */
                    "Retry-After": number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["TooManyRequests"];
                };
            };
            /** @description A fault of the gateway. Nothing is said of its cause; repeat with care (submit: with the same `Idempotency-Key`). */
            500: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["InternalError"];
                };
            };
            /**
             * @description Not now; send it again after `Retry-After`. `busy`: 100,000 tasks are open, or 20,000 agents registered, and
             *     nothing was changed. `store_unavailable`: the store does not answer; whether a change was made is not known.
             */
            503: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    /**
                     * @description Whole seconds after which the same request may be sent again.
                     * @example 2
                     */
                    "Retry-After": number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ServiceUnavailable"];
                };
            };
        };
    };
    claimTask: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TaskClaim"];
            };
        };
        responses: {
            /** @description A task for this agent. */
            200: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskInfo"];
                };
            };
            /** @description The wait is over and there is no task. */
            204: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /**
             * @description The request can't be served as it is. `malformed_body`: not JSON, a byte-order mark or invalid UTF-8; send the
             *     body again as UTF-8. `agent_id_missing`: say which agent calls. `agent_mismatch`: the task was never assigned to
             *     this agent (for `running`: is not now); drop it. `task_terminal`: the task has ended before; read it instead.
             */
            400: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["BadRequest"];
                };
            };
            /** @description The secret is wrong or absent where it belongs (§5). Repeating does not help: configure the right secret. */
            401: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Unauthorized"];
                };
            };
            /**
             * @description It does not exist. `task_not_found`: never submitted here, or ended longer ago than tasks are kept (24 hours).
             *     `agent_not_found`: not registered; an agent registers again.
             */
            404: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["NotFound"];
                };
            };
            /** @description The body is larger than 4 MiB. Keep large data elsewhere and send a reference to it. */
            413: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["PayloadTooLarge"];
                };
            };
            /**
             * @description The body comes with a `Content-Encoding`, or from a web page (a request with an `Origin` header) without
             *     `Content-Type: application/json`. Everybody else's body is read as JSON whatever its header says.
             */
            415: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["UnsupportedMediaType"];
                };
            };
            /**
             * @description Fields are missing or of a wrong type or size (`validation_failed`), or the `Idempotency-Key` was used before with
             *     another content (`idempotency_conflict`: take a fresh key). Mend what `errors` names; repeating does not help.
             */
            422: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Unprocessable"];
                };
            };
            /** @description A fault of the gateway. Nothing is said of its cause; repeat with care (submit: with the same `Idempotency-Key`). */
            500: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["InternalError"];
                };
            };
            /**
             * @description Not now; send it again after `Retry-After`. `busy`: 100,000 tasks are open, or 20,000 agents registered, and
             *     nothing was changed. `store_unavailable`: the store does not answer; whether a change was made is not known.
             */
            503: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    /**
                     * @description Whole seconds after which the same request may be sent again.
                     * @example 2
                     */
                    "Retry-After": number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ServiceUnavailable"];
                };
            };
        };
    };
    heartbeatAgent: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AgentHeartbeat"];
            };
        };
        responses: {
            /** @description The gateway has heard the agent. */
            200: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HeartbeatReceipt"];
                };
            };
            /**
             * @description The request can't be served as it is. `malformed_body`: not JSON, a byte-order mark or invalid UTF-8; send the
             *     body again as UTF-8. `agent_id_missing`: say which agent calls. `agent_mismatch`: the task was never assigned to
             *     this agent (for `running`: is not now); drop it. `task_terminal`: the task has ended before; read it instead.
             */
            400: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["BadRequest"];
                };
            };
            /** @description The secret is wrong or absent where it belongs (§5). Repeating does not help: configure the right secret. */
            401: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Unauthorized"];
                };
            };
            /**
             * @description It does not exist. `task_not_found`: never submitted here, or ended longer ago than tasks are kept (24 hours).
             *     `agent_not_found`: not registered; an agent registers again.
             */
            404: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["NotFound"];
                };
            };
            /** @description The body is larger than 4 MiB. Keep large data elsewhere and send a reference to it. */
            413: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["PayloadTooLarge"];
                };
            };
            /**
             * @description The body comes with a `Content-Encoding`, or from a web page (a request with an `Origin` header) without
             *     `Content-Type: application/json`. Everybody else's body is read as JSON whatever its header says.
             */
            415: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["UnsupportedMediaType"];
                };
            };
            /**
             * @description Fields are missing or of a wrong type or size (`validation_failed`), or the `Idempotency-Key` was used before with
             *     another content (`idempotency_conflict`: take a fresh key). Mend what `errors` names; repeating does not help.
             */
            422: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Unprocessable"];
                };
            };
            /** @description A fault of the gateway. Nothing is said of its cause; repeat with care (submit: with the same `Idempotency-Key`). */
            500: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["InternalError"];
                };
            };
            /**
             * @description Not now; send it again after `Retry-After`. `busy`: 100,000 tasks are open, or 20,000 agents registered, and
             *     nothing was changed. `store_unavailable`: the store does not answer; whether a change was made is not known.
             */
            503: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    /**
                     * @description Whole seconds after which the same request may be sent again.
                     * @example 2
                     */
                    "Retry-After": number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ServiceUnavailable"];
                };
            };
        };
    };
    registerAgent: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AgentRegistration"];
            };
        };
        responses: {
            /** @description The agent is registered. */
            200: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RegistrationReceipt"];
                };
            };
            /**
             * @description The request can't be served as it is. `malformed_body`: not JSON, a byte-order mark or invalid UTF-8; send the
             *     body again as UTF-8. `agent_id_missing`: say which agent calls. `agent_mismatch`: the task was never assigned to
             *     this agent (for `running`: is not now); drop it. `task_terminal`: the task has ended before; read it instead.
             */
            400: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["BadRequest"];
                };
            };
            /** @description The secret is wrong or absent where it belongs (§5). Repeating does not help: configure the right secret. */
            401: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Unauthorized"];
                };
            };
            /** @description The body is larger than 4 MiB. Keep large data elsewhere and send a reference to it. */
            413: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["PayloadTooLarge"];
                };
            };
            /**
             * @description The body comes with a `Content-Encoding`, or from a web page (a request with an `Origin` header) without
             *     `Content-Type: application/json`. Everybody else's body is read as JSON whatever its header says.
             */
            415: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["UnsupportedMediaType"];
                };
            };
            /**
             * @description Fields are missing or of a wrong type or size (`validation_failed`), or the `Idempotency-Key` was used before with
             *     another content (`idempotency_conflict`: take a fresh key). Mend what `errors` names; repeating does not help.
             */
            422: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Unprocessable"];
                };
            };
            /** @description A fault of the gateway. Nothing is said of its cause; repeat with care (submit: with the same `Idempotency-Key`). */
            500: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["InternalError"];
                };
            };
            /**
             * @description Not now; send it again after `Retry-After`. `busy`: 100,000 tasks are open, or 20,000 agents registered, and
             *     nothing was changed. `store_unavailable`: the store does not answer; whether a change was made is not known.
             */
            503: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    /**
                     * @description Whole seconds after which the same request may be sent again.
                     * @example 2
                     */
                    "Retry-After": number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ServiceUnavailable"];
                };
            };
        };
    };
    reportResult: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TaskReport"];
            };
        };
        responses: {
            /** @description The gateway has the report. */
            200: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReportReceipt"];
                };
            };
            /**
             * @description The request can't be served as it is. `malformed_body`: not JSON, a byte-order mark or invalid UTF-8; send the
             *     body again as UTF-8. `agent_id_missing`: say which agent calls. `agent_mismatch`: the task was never assigned to
             *     this agent (for `running`: is not now); drop it. `task_terminal`: the task has ended before; read it instead.
             */
            400: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["BadRequest"];
                };
            };
            /** @description The secret is wrong or absent where it belongs (§5). Repeating does not help: configure the right secret. */
            401: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Unauthorized"];
                };
            };
            /**
             * @description It does not exist. `task_not_found`: never submitted here, or ended longer ago than tasks are kept (24 hours).
             *     `agent_not_found`: not registered; an agent registers again.
             */
            404: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["NotFound"];
                };
            };
            /** @description The body is larger than 4 MiB. Keep large data elsewhere and send a reference to it. */
            413: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["PayloadTooLarge"];
                };
            };
            /**
             * @description The body comes with a `Content-Encoding`, or from a web page (a request with an `Origin` header) without
             *     `Content-Type: application/json`. Everybody else's body is read as JSON whatever its header says.
             */
            415: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["UnsupportedMediaType"];
                };
            };
            /**
             * @description Fields are missing or of a wrong type or size (`validation_failed`), or the `Idempotency-Key` was used before with
             *     another content (`idempotency_conflict`: take a fresh key). Mend what `errors` names; repeating does not help.
             */
            422: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Unprocessable"];
                };
            };
            /** @description A fault of the gateway. Nothing is said of its cause; repeat with care (submit: with the same `Idempotency-Key`). */
            500: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["InternalError"];
                };
            };
            /**
             * @description Not now; send it again after `Retry-After`. `busy`: 100,000 tasks are open, or 20,000 agents registered, and
             *     nothing was changed. `store_unavailable`: the store does not answer; whether a change was made is not known.
             */
            503: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    /**
                     * @description Whole seconds after which the same request may be sent again.
                     * @example 2
                     */
                    "Retry-After": number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ServiceUnavailable"];
                };
            };
        };
    };
    unregisterAgent: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AgentDeparture"];
            };
        };
        responses: {
            /** @description The agent is unregistered. */
            200: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DepartureReceipt"];
                };
            };
            /**
             * @description The request can't be served as it is. `malformed_body`: not JSON, a byte-order mark or invalid UTF-8; send the
             *     body again as UTF-8. `agent_id_missing`: say which agent calls. `agent_mismatch`: the task was never assigned to
             *     this agent (for `running`: is not now); drop it. `task_terminal`: the task has ended before; read it instead.
             */
            400: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["BadRequest"];
                };
            };
            /** @description The secret is wrong or absent where it belongs (§5). Repeating does not help: configure the right secret. */
            401: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Unauthorized"];
                };
            };
            /**
             * @description It does not exist. `task_not_found`: never submitted here, or ended longer ago than tasks are kept (24 hours).
             *     `agent_not_found`: not registered; an agent registers again.
             */
            404: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["NotFound"];
                };
            };
            /** @description The body is larger than 4 MiB. Keep large data elsewhere and send a reference to it. */
            413: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["PayloadTooLarge"];
                };
            };
            /**
             * @description The body comes with a `Content-Encoding`, or from a web page (a request with an `Origin` header) without
             *     `Content-Type: application/json`. Everybody else's body is read as JSON whatever its header says.
             */
            415: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["UnsupportedMediaType"];
                };
            };
            /**
             * @description Fields are missing or of a wrong type or size (`validation_failed`), or the `Idempotency-Key` was used before with
             *     another content (`idempotency_conflict`: take a fresh key). Mend what `errors` names; repeating does not help.
             */
            422: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Unprocessable"];
                };
            };
            /** @description A fault of the gateway. Nothing is said of its cause; repeat with care (submit: with the same `Idempotency-Key`). */
            500: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["InternalError"];
                };
            };
            /**
             * @description Not now; send it again after `Retry-After`. `busy`: 100,000 tasks are open, or 20,000 agents registered, and
             *     nothing was changed. `store_unavailable`: the store does not answer; whether a change was made is not known.
             */
            503: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    /**
                     * @description Whole seconds after which the same request may be sent again.
                     * @example 2
                     */
                    "Retry-After": number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ServiceUnavailable"];
                };
            };
        };
    };
    listAgents: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All registered agents. */
            200: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentListings"];
                };
            };
            /** @description The secret is wrong or absent where it belongs (§5). Repeating does not help: configure the right secret. */
            401: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Unauthorized"];
                };
            };
            /** @description A fault of the gateway. Nothing is said of its cause; repeat with care (submit: with the same `Idempotency-Key`). */
            500: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["InternalError"];
                };
            };
            /**
             * @description Not now; send it again after `Retry-After`. `busy`: 100,000 tasks are open, or 20,000 agents registered, and
             *     nothing was changed. `store_unavailable`: the store does not answer; whether a change was made is not known.
             */
            503: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    /**
                     * @description Whole seconds after which the same request may be sent again.
                     * @example 2
                     */
                    "Retry-After": number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ServiceUnavailable"];
                };
            };
        };
    };
    listTasks: {
        parameters: {
            query?: {
                /** @description Only tasks in this state. */
                status?: components["schemas"]["TaskStatus"];
                /** @description Only tasks of this `task_type`. */
                type?: components["schemas"]["Name"];
                /** @description Only tasks with this tag. */
                tag?: components["schemas"]["Name"];
                /** @description Only tasks of this `cli_session_id`. */
                session?: components["schemas"]["Name"];
                /** @description Only tasks whose `agent_id` is this one. */
                agent?: components["schemas"]["Name"];
                /** @description Where to go on: the `next_cursor` of the page before, with the same filters. */
                cursor?: string;
                /** @description How many tasks at most. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of tasks. */
            200: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskPage"];
                };
            };
            /** @description The secret is wrong or absent where it belongs (§5). Repeating does not help: configure the right secret. */
            401: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Unauthorized"];
                };
            };
            /**
             * @description Fields are missing or of a wrong type or size (`validation_failed`), or the `Idempotency-Key` was used before with
             *     another content (`idempotency_conflict`: take a fresh key). Mend what `errors` names; repeating does not help.
             */
            422: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Unprocessable"];
                };
            };
            /** @description A fault of the gateway. Nothing is said of its cause; repeat with care (submit: with the same `Idempotency-Key`). */
            500: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["InternalError"];
                };
            };
            /**
             * @description Not now; send it again after `Retry-After`. `busy`: 100,000 tasks are open, or 20,000 agents registered, and
             *     nothing was changed. `store_unavailable`: the store does not answer; whether a change was made is not known.
             */
            503: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    /**
                     * @description Whole seconds after which the same request may be sent again.
                     * @example 2
                     */
                    "Retry-After": number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ServiceUnavailable"];
                };
            };
        };
    };
}
