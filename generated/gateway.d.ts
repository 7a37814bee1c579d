// Generated from the contract. Do not edit: change the TypeSpec sources and generate again.

export interface paths {
    "/api/cli/match": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Preview a match
         * @description Returns which agents would qualify for a task with these tags, without submitting one: the same `match`
         *     that `explainTask` returns. The administrator's secret is accepted instead of the field `auth`.
         */
        post: operations["previewMatch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
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
         * @description Submits a task and returns it as it is at that moment: `pending`, even if an agent is free. Matching
         *     follows immediately. The task's event is stored when it ends: subscribe to `cli_session_id` before or
         *     after.
         *
         *     A repeat with the same `Idempotency-Key` and content returns the first response again and creates
         *     nothing. Without the header every call creates a task. On 503 `busy` retry after `Retry-After`. On 503
         *     `store_unavailable`, on 500 and without a response, the task may have been created: retry with the
         *     header.
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
         * @description Returns a task. With `wait` the response is sent when the task is terminal or the time is over, and holds
         *     the task as it is then. Safe to repeat. A task is kept for 24 hours after it becomes terminal. The
         *     administrator's secret is accepted instead of the gateway secret.
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
         * @description Cancels a pending or running task: it fails with `cancelled by user`, and a `task_done` event follows. No
         *     body is needed, and none is read. The agent finds the task in `cancelled_request_ids`. A terminal task is
         *     not changed; the call returns 400.
         */
        post: operations["cancelTask"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/cli/tasks/{request_id}/explain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Explain a task
         * @description Explains a task: what happened to it, which agents qualify for it, and what to do if it does not run. It
         *     changes nothing. The administrator's secret is accepted instead of the gateway secret.
         */
        get: operations["explainTask"];
        put?: never;
        post?: never;
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
         * @description Streams the `task_done` events of a session: first the stored events, then live ones, in the order in
         *     which the tasks became terminal. The stream stays open. A reader that comes late gets everything that is
         *     stored; subscribe before you submit to learn of an end the moment it happens. Events are kept for 24
         *     hours, at most 100,000 per session. The response is never cached, compressed or buffered
         *     (`Cache-Control: no-store, no-transform`, `X-Accel-Buffering: no`).
         *
         *     After a disconnect, reconnect with the last `id` as `Last-Event-ID` (`EventSource` does): the stream
         *     continues after it. With an id unknown to the session all events are sent again, so that none is lost:
         *     recognise repeats by `request_id`. A reader that reads nothing for 30 seconds is disconnected. If the
         *     stream is unavailable, poll the task.
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
         * @description Returns the next task to an agent that registered with `endpoint: pull`: the oldest task assigned to it
         *     that is not acknowledged yet and was not returned in the last 15 seconds. 204 means that there was none
         *     within `wait` seconds: claim again. Delivery is at least once: a task that is neither reported nor named
         *     in `request_ids` is returned again. On 404 register again. An agent that registered a URL gets 422.
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
         * Send a heartbeat
         * @description Reports that the agent is alive and, with the right `auth`, its load. Call it every `heartbeat_interval`
         *     seconds. On 404 register again; on 503 keep sending heartbeats.
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
         * @description Registers an agent, or registers it again: the last registration counts, and its running tasks keep
         *     running. Call it at start, and whenever a heartbeat returns 404.
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
         * @description Reports the progress or the result of a task. Repeat the report until there is a response: a repeat is
         *     harmless and returns `accepted: false`. On 404 `task_not_found` and on 400 `agent_mismatch` drop the
         *     report; on 404 `agent_not_found` register, then report again.
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
         * @description Unregisters an agent: it gets no more tasks. A task it never took moves to another agent at once, a task
         *     it may have taken moves after 90 seconds, and a task it acknowledged stays assigned to it until reported
         *     or timed out. For an unknown agent the call returns 404; nothing is left to do. Send the `registration`
         *     that register returned: then a process that ends late does not unregister its successor.
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
         * @description Lists all registered agents with their tags, their state and whether they are full, to see why a task
         *     finds no agent.
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
         * @description Lists tasks, newest first, in pages. A task is listed if it matches all filters. One call examines at
         *     most 1,000 tasks, so a page may be short or empty while `next_cursor` is not null: continue with it.
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
        /** @description A request to unregister an agent. */
        AgentDeparture: {
            /**
             * @description The gateway secret. Optional unless the gateway is configured to require it of agents; a wrong one is
             *     refused.
             */
            auth?: components["schemas"]["Secret"];
            /** @description The agent's id. */
            agent_id: components["schemas"]["Name"];
            /**
             * @description The token of the register response. If the agent has registered again since, nothing happens and the call
             *     returns 200: its successor stays registered.
             */
            registration?: components["schemas"]["RegistrationToken"];
        };
        /** @description A heartbeat. The optional fields count only with the right `auth`. */
        AgentHeartbeat: {
            /**
             * @description The gateway secret. Optional unless the gateway is configured to require it of agents; a wrong one is
             *     refused.
             */
            auth?: components["schemas"]["Secret"];
            /** @description The agent's id. */
            agent_id: components["schemas"]["Name"];
            /**
             * Format: int64
             * @description The agent's load now, tasks of the gateway included. Below 2^63; above 2^53 it is read as a double.
             */
            current_load?: number;
            /** @description The tasks the agent has accepted and not yet reported; acknowledges those assigned to it. */
            request_ids?: components["schemas"]["RequestIds"];
            /**
             * @description The token of the register response. If the agent has registered again since, by another process, then
             *     `current_load` and `draining` of this heartbeat do not change its successor.
             */
            registration?: components["schemas"]["RegistrationToken"];
            /** @description True: the agent asks for no more tasks, until it sends `false` or registers again. */
            draining?: boolean;
        };
        /** @description An agent as administrators see it. Secrets are never listed. */
        AgentListing: {
            /** @description The agent's id. */
            agent_id: components["schemas"]["Name"];
            /** @description The URL tasks are pushed to, or `pull`. */
            endpoint: string;
            /** @description The agent's tags. */
            agent_tags: components["schemas"]["Tags"];
            /** @description The agent's state now. */
            state: components["schemas"]["AgentState"];
            /** @description Whether its load is at or above its maximum. */
            full: boolean;
            /** @description Whether the agent would get a task now: `ready` or `processing`, and not full. */
            eligible: boolean;
            /**
             * Format: int32
             * @description How many tasks the agent runs at once.
             */
            max_concurrent: number;
            /**
             * Format: int64
             * @description The tasks of the gateway plus the external load. Above 2^53 it is exact only as a double is.
             */
            current_load: number;
            /**
             * Format: int32
             * @description How many tasks of the gateway the agent has.
             */
            running: number;
            /** @description The ids of the first 100 of these tasks. */
            running_request_ids: components["schemas"]["RequestId"][];
            /** @description When the agent last registered. */
            registered_time: components["schemas"]["EpochSeconds"];
            /** @description When the agent last called or acknowledged a push. */
            last_contact_time: components["schemas"]["EpochSeconds"];
            /** @description The result of the last push to the agent. */
            push: components["schemas"]["LastPush"];
        };
        /** @description All registered agents. */
        AgentListings: {
            /** @description One entry for each agent. */
            agents: components["schemas"]["AgentListing"][];
            /**
             * Format: int32
             * @description The number of registered agents.
             */
            total: number;
        };
        /** @description An agent's registration. */
        AgentRegistration: {
            /** @description The gateway secret. */
            auth: components["schemas"]["Secret"];
            /** @description The agent's id, chosen by the agent and stable across restarts. */
            agent_id: components["schemas"]["Name"];
            /**
             * @description The URL tasks are pushed to: absolute, `http` or `https`, without user and password, read as
             *     the URL standard (WHATWG) parses it, so blanks around it and a missing `//` pass. Or the word `pull`:
             *     then nothing is pushed and the agent claims its tasks.
             */
            endpoint: string;
            /** @description What the agent can do: it gets tasks that share at least one tag. */
            agent_tags: components["schemas"]["Tags"];
            /**
             * Format: int32
             * @description How many tasks the agent runs at once; with 0 it gets none.
             * @default 1
             */
            max_concurrent?: number;
            /**
             * Format: int64
             * @description The agent's load now, tasks of the gateway included. At or above `max_concurrent` the agent is full. The
             *     part that tasks of the gateway do not explain counts as external load. Below 2^63; above 2^53 it is read
             *     as a double.
             * @default 0
             */
            current_load?: number;
            /**
             * @description The tasks the agent has accepted and not yet reported. Naming an assigned task here acknowledges it; a
             *     task acknowledged before and not named is pushed again. Makes the external load exact.
             */
            request_ids?: components["schemas"]["RequestIds"];
            /**
             * Format: double
             * @description Seconds without contact after which the agent's running tasks fail, within 2 seconds, with
             *     `agent lost: no contact for N s` (N: the whole seconds of silence), and the agent is `offline` if it was
             *     not before; a task that was assigned later has as long from its assignment. Without it they keep running
             *     until they are reported or time out.
             */
            lost_after?: number;
        };
        /**
         * @description An agent's state: `ready` (runs no task) and `processing` (runs at least one) get tasks unless full.
         *     `draining` (asked for no more tasks) and `offline` (no contact for too long, or replied 410 to a push) get
         *     none. Being full is not a state.
         * @enum {string}
         */
        AgentState: "ready" | "processing" | "draining" | "offline";
        /**
         * @description The request can't be processed as it is. `malformed_body`: the body is not JSON, has a byte-order mark or
         *     is not valid UTF-8; send it again as UTF-8. `agent_id_missing`: send the id of the agent that calls.
         *     `agent_mismatch`: the task was never assigned to this agent (for `running`: is not assigned to it now);
         *     drop the report. `task_terminal`: the task was already terminal; get it instead.
         */
        BadRequest: {
            /** @description `urn:task-gateway:problem:` and the code. */
            type: string;
            /** @description The problem in a few words; the same for all problems of this code. */
            title: string;
            /**
             * @description The HTTP status of the response.
             * @enum {number}
             */
            status: 400;
            /** @description One sentence about this request: what is wrong and what to send instead. */
            detail: string;
            /**
             * @description The code to branch on: stable within a major version.
             * @enum {string}
             */
            code: "malformed_body" | "agent_id_missing" | "agent_mismatch" | "task_terminal";
        };
        /** @description The task is cancelled: its status, its event and the freed slot are stored. */
        CancelReceipt: {
            /**
             * @description Always true.
             * @enum {boolean}
             */
            ok: true;
            /** @description The cancelled task. */
            request_id: components["schemas"]["RequestId"];
        };
        /**
         * Format: int32
         * @description A number of things.
         */
        Count: number;
        /** @description The agent is unregistered. */
        DepartureReceipt: {
            /**
             * @description Always true.
             * @enum {boolean}
             */
            ok: true;
            /** @description The agent's id. */
            agent_id: components["schemas"]["Name"];
        };
        /**
         * Format: double
         * @description A time in Unix epoch seconds: a decimal number with millisecond precision.
         */
        EpochSeconds: number;
        /**
         * @description Server-sent events in UTF-8. The stream begins with `retry: 2000` and a comment. Then each task is one
         *     frame: an `id:` line, one `data:` line with a `TaskDone` as JSON, an empty line. There is no `event:` line,
         *     so `EventSource.onmessage` gets them. The comment `: ping` is sent every 15 seconds; the comment `: gap`
         *     says that older events were deleted.
         */
        EventFrames: string;
        /** @description One error in a request. */
        FieldError: {
            /**
             * @description JSON Pointer (RFC 6901) to the value in the body; empty for the body itself. For a query parameter or a
             *     header: `/` and its name.
             */
            pointer: string;
            /** @description What is wrong with it and what to send. */
            detail: string;
        };
        /**
         * @description The request comes from a web page of an origin that is not allowed. While the gateway uses its default
         *     secret, which is public, only pages of its own machine and of configured origins are served.
         * @example {
         *       "type": "urn:task-gateway:problem:origin_not_allowed",
         *       "title": "Origin not allowed",
         *       "status": 403,
         *       "detail": "With the default secret web pages of other origins are not served. On the gateway set GATEWAY_AUTH to a secret of your own, or add the origin to CORS_ORIGINS.",
         *       "code": "origin_not_allowed"
         *     }
         */
        Forbidden: {
            /** @description `urn:task-gateway:problem:` and the code. */
            type: string;
            /** @description The problem in a few words; the same for all problems of this code. */
            title: string;
            /**
             * @description The HTTP status of the response.
             * @enum {number}
             */
            status: 403;
            /** @description One sentence about this request: what is wrong and what to send instead. */
            detail: string;
            /**
             * @description The code to branch on: stable within a major version.
             * @enum {string}
             */
            code: "origin_not_allowed";
        };
        /** @description Any JSON object. Its keys are passed through unchanged; its nesting counts towards the limits of a body. */
        FreeForm: {
            [key: string]: unknown;
        };
        /** @description The gateway has received the heartbeat. */
        HeartbeatReceipt: {
            /**
             * @description Always true.
             * @enum {boolean}
             */
            ok: true;
            /** @description The agent's id. */
            agent_id: components["schemas"]["Name"];
            /** @description The agent's state now. */
            state: components["schemas"]["AgentState"];
            /**
             * @description Tasks the agent may stop working on. With `request_ids` in the call: those of them that are terminal or
             *     no longer assigned to the agent, in the order of the call. Without: those assigned to it that became
             *     terminal without its report in the last 10 minutes, newest first, in each response until then. At most
             *     1,000.
             */
            cancelled_request_ids: components["schemas"]["RequestIds"];
        };
        /** @description One thing that happened to a task. Equal attempts in a row are one entry. */
        HistoryEntry: {
            /** @description When it happened, for several in a row the first; never before `last_time` of the entry above. */
            time: components["schemas"]["EpochSeconds"];
            /** @description What happened. */
            event: components["schemas"]["HistoryEvent"];
            /** @description The agent it is about; null if it is about no agent. */
            agent_id: components["schemas"]["Name"] | null;
            /**
             * @description More about it in a few words, or null. Of a push: the status or the error, and how long the last one took
             *     (`202, 14 ms`). Nothing that an agent sent.
             */
            detail: string | null;
            /** @description How many in a row this entry stands for; 1 for most. */
            count: components["schemas"]["Count"];
            /** @description When the last of them happened; equals `time` if `count` is 1. */
            last_time: components["schemas"]["EpochSeconds"];
        };
        /**
         * @description What happened: `submitted`; `waiting` (for an agent with a free slot); `assigned`; `moved` (assigned to
         *     another agent); `claimed` (handed out to a claim); `push_taken` (the agent responded 2xx or 409),
         *     `push_not_taken` (it certainly does not have the task), `push_unknown` (it may have it); `acknowledged`
         *     (the agent named the task, or reported progress); `progress`; `offered_again` (the agent registered again
         *     and did not name the task); or the outcome that ended the task. Later versions may add others.
         */
        HistoryEvent: string | ("submitted" | "waiting" | "assigned" | "moved" | "claimed" | "push_taken" | "push_not_taken" | "push_unknown" | "acknowledged" | "progress" | "offered_again" | "success" | "failed" | "cancelled" | "timeout" | "no_agent" | "agent_lost");
        /**
         * Format: int32
         * @description The status of an HTTP response.
         */
        HttpStatus: number;
        /**
         * @description A fault in the gateway. The response does not state the cause; retry with care (`submitTask`: with the same
         *     `Idempotency-Key`).
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
            /** @description The problem in a few words; the same for all problems of this code. */
            title: string;
            /**
             * @description The HTTP status of the response.
             * @enum {number}
             */
            status: 500;
            /** @description One sentence about this request: what is wrong and what to send instead. */
            detail: string;
            /**
             * @description The code to branch on: stable within a major version.
             * @enum {string}
             */
            code: "internal";
        };
        /** @description The result of the last push to an agent. */
        LastPush: {
            /** @description The HTTP status of the agent's response; null if there was no response or nothing was pushed yet. */
            last_status: components["schemas"]["HttpStatus"] | null;
            /** @description Why the push failed, for people; null if it did not fail. */
            last_error: string | null;
        };
        /** @description An agent, and whether it qualifies. */
        MatchAgent: {
            /** @description The agent's id. */
            agent_id: components["schemas"]["Name"];
            /** @description The tags it shares with the task; the first 8. */
            shared_tags: components["schemas"]["Name"][];
            /** @description The agent's state. */
            state: components["schemas"]["AgentState"];
            /** @description Whether its load is at or above its maximum. */
            full: boolean;
            /** @description Whether it would get the task. */
            eligible: boolean;
            /** @description Why. */
            reason: components["schemas"]["MatchReason"];
            /** @description Whether the last push to it was not taken: then it ranks behind all others. */
            push_failing: boolean;
            /**
             * Format: int32
             * @description How many tasks the agent runs at once.
             */
            max_concurrent: number;
            /**
             * Format: int64
             * @description The tasks of the gateway plus the external load.
             */
            current_load: number;
            /** @description When the agent last called or acknowledged a push. */
            last_contact_time: components["schemas"]["EpochSeconds"];
        };
        /** @description How many agents share at least one of the tags, by what keeps them from the task. */
        MatchCounts: {
            /** @description Agents that share a tag. */
            agents: components["schemas"]["Count"];
            /** @description Of these: those that would get the task. */
            eligible: components["schemas"]["Count"];
            /** @description Of these: at full load. */
            full: components["schemas"]["Count"];
            /** @description Of these: draining. */
            draining: components["schemas"]["Count"];
            /** @description Of these: offline. */
            offline: components["schemas"]["Count"];
        };
        /** @description A match without a task. */
        MatchPreview: {
            /** @description Which agents qualify now. */
            match: components["schemas"]["TaskMatch"];
            /** @description What is wrong and what to do, in English; its wording may change. Null if nothing need be done. */
            hint: string | null;
            /** @description The same for programs, the most promising first. */
            remedies: components["schemas"]["Remedy"][];
        };
        /** @description The tags to match. */
        MatchQuery: {
            /** @description The gateway secret. Required, unless the request has the administrator's secret in `X-Admin-Auth`. */
            auth?: components["schemas"]["Secret"];
            /** @description The tags to match, as a task would have them. */
            task_tags: components["schemas"]["Tags"];
        };
        /**
         * @description Why an agent gets the task or does not: `eligible`, `no_shared_tag`, `full`, `draining`, `offline`,
         *     `refused_this_task` (it was busy for this task in the last 30 seconds) or `has_this_task` (it is assigned
         *     to this agent now, and waits for another one). Later versions may add others.
         */
        MatchReason: string | ("eligible" | "no_shared_tag" | "full" | "draining" | "offline" | "refused_this_task" | "has_this_task");
        /** @description One of the tags that were asked for, with the agents that have it. */
        MatchTag: {
            /** @description The tag. */
            tag: components["schemas"]["Name"];
            /** @description How many registered agents have it. */
            agents: components["schemas"]["Count"];
            /** @description How many of these would get a task now. */
            free: components["schemas"]["Count"];
            /** @description The nearest tag that agents have, if no agent has this one and another is like it; else null. */
            similar: components["schemas"]["TagSupply"] | null;
        };
        /**
         * @description The `Host` of the request is not a name of this gateway. While the gateway uses its default secret, which
         *     is public, it serves requests to `localhost`, to a loopback address and to the names of `ALLOWED_HOSTS`
         *     alone.
         * @example {
         *       "type": "urn:task-gateway:problem:misdirected",
         *       "title": "Misdirected request",
         *       "status": 421,
         *       "detail": "With the default secret the gateway serves its own machine alone. Call it as 127.0.0.1 or localhost, set GATEWAY_AUTH to a secret of your own, or add this name to ALLOWED_HOSTS.",
         *       "code": "misdirected"
         *     }
         */
        Misdirected: {
            /** @description `urn:task-gateway:problem:` and the code. */
            type: string;
            /** @description The problem in a few words; the same for all problems of this code. */
            title: string;
            /**
             * @description The HTTP status of the response.
             * @enum {number}
             */
            status: 421;
            /** @description One sentence about this request: what is wrong and what to send instead. */
            detail: string;
            /**
             * @description The code to branch on: stable within a major version.
             * @enum {string}
             */
            code: "misdirected";
        };
        /**
         * @description A name chosen by a client or an agent: 1 to 256 code points of well-formed Unicode (no lone surrogate).
         *     Names are compared exactly, character for character.
         */
        Name: string;
        /**
         * @description The task or the agent does not exist. `task_not_found`: the task was never submitted here, or became
         *     terminal longer ago than tasks are kept (24 hours). `agent_not_found`: the agent is not registered; it
         *     registers again.
         */
        NotFound: {
            /** @description `urn:task-gateway:problem:` and the code. */
            type: string;
            /** @description The problem in a few words; the same for all problems of this code. */
            title: string;
            /**
             * @description The HTTP status of the response.
             * @enum {number}
             */
            status: 404;
            /** @description One sentence about this request: what is wrong and what to send instead. */
            detail: string;
            /**
             * @description The code to branch on: stable within a major version.
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
            /** @description The problem in a few words; the same for all problems of this code. */
            title: string;
            /**
             * @description The HTTP status of the response.
             * @enum {number}
             */
            status: 413;
            /** @description One sentence about this request: what is wrong and what to send instead. */
            detail: string;
            /**
             * @description The code to branch on: stable within a major version.
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
            /** @description The agent's id. */
            agent_id: components["schemas"]["Name"];
            /** @description The agent's state now. */
            state: components["schemas"]["AgentState"];
            /** @description Names this registration. Send it when you unregister, and with heartbeats. */
            registration: components["schemas"]["RegistrationToken"];
            /**
             * Format: double
             * @description The interval between heartbeats that the gateway asks for, in seconds.
             */
            heartbeat_interval: number;
            /**
             * Format: double
             * @description Seconds without contact after which an agent that keeps this interval is `offline`.
             */
            offline_after: number;
            /** @description Tasks the agent may stop working on: they are terminal or no longer assigned to it. At most 1,000. */
            cancelled_request_ids: components["schemas"]["RequestIds"];
        };
        /**
         * @description Names one registration: a new one at each call of register, so that a process whose successor has
         *     registered under the same `agent_id` changes nothing of the successor's. 1 to 256 code points of
         *     well-formed Unicode, opaque.
         */
        RegistrationToken: string;
        /** @description One thing that helps, for programs; `hint` says the same for people. */
        Remedy: {
            /** @description What to do. */
            kind: components["schemas"]["RemedyKind"];
            /** @description The tag it is about, or null. */
            tag: components["schemas"]["Name"] | null;
            /** @description The agent it is about, or null. */
            agent_id: components["schemas"]["Name"] | null;
            /** @description The time it is about, in seconds, or null. */
            seconds: number | null;
        };
        /**
         * @description What helps: `use_tag` (submit with `tag`), `wait` (submit with `queue_timeout` of `seconds`),
         *     `raise_max_concurrent` (of `agent_id`), `start_agent` (with `tag`, or the agent `agent_id` again),
         *     `end_draining` (of `agent_id`), `check_agent` (look at the log and the endpoint of `agent_id`),
         *     `raise_timeout` (submit with a longer `timeout`) or `submit_again`. Later versions may add others.
         */
        RemedyKind: string | ("use_tag" | "wait" | "raise_max_concurrent" | "start_agent" | "end_draining" | "check_agent" | "raise_timeout" | "submit_again");
        /** @description The gateway has received the report. */
        ReportReceipt: {
            /**
             * @description Always true.
             * @enum {boolean}
             */
            ok: true;
            /** @description The task's id. */
            request_id: components["schemas"]["RequestId"];
            /** @description The task's status now. */
            status: components["schemas"]["TaskStatus"];
            /**
             * @description False if the task was already terminal (a late or repeated report): nothing changed. Do not repeat the
             *     report.
             */
            accepted: boolean;
        };
        /** @description The id the gateway gives a task: a UUIDv7 today, opaque to clients. */
        RequestId: string;
        /** @description The tasks an agent has accepted, except those whose report the gateway has responded to. At most 1,000. */
        RequestIds: components["schemas"]["RequestId"][];
        /**
         * Format: password
         * @description The gateway secret as a field of a JSON body. A call with a wrong secret returns 401, one without it 422.
         */
        Secret: string;
        /**
         * @description The request can't be processed now; retry after `Retry-After`. `busy`: 100,000 tasks are pending or
         *     running, 20,000 agents are registered, or bodies take all the memory there is for them (of which one remote
         *     address has at most half), and nothing was changed. `store_unavailable`: the store does not respond; it is
         *     unknown whether a change was made.
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
            /** @description The problem in a few words; the same for all problems of this code. */
            title: string;
            /**
             * @description The HTTP status of the response.
             * @enum {number}
             */
            status: 503;
            /** @description One sentence about this request: what is wrong and what to send instead. */
            detail: string;
            /**
             * @description The code to branch on: stable within a major version.
             * @enum {string}
             */
            code: "busy" | "store_unavailable";
        };
        /**
         * @description A client session: at most 256 code points of well-formed Unicode. Empty means no session: such a task has
         *     no stream.
         */
        SessionId: string;
        /** @description A tag that agents have, with how many have it. */
        TagSupply: {
            /** @description The tag. */
            tag: components["schemas"]["Name"];
            /** @description How many registered agents have it. */
            agents: components["schemas"]["Count"];
            /** @description How many of these would get a task now. */
            free: components["schemas"]["Count"];
        };
        /**
         * @description The tags of a task or an agent, at most 64. They are compared exactly, with case, and never trimmed. May be
         *     empty.
         */
        Tags: components["schemas"]["Name"][];
        /** @description An agent's request for its next task. */
        TaskClaim: {
            /** @description The gateway secret. */
            auth: components["schemas"]["Secret"];
            /** @description The id of an agent registered with `endpoint: pull`. */
            agent_id: components["schemas"]["Name"];
            /**
             * Format: double
             * @description Seconds to wait for a task if none is there; more than 60 counts as 60.
             * @default 0
             */
            wait?: number;
            /** @description The tasks the agent has accepted and not yet reported; acknowledges those assigned to it. */
            request_ids?: components["schemas"]["RequestIds"];
        };
        /** @description A task became terminal. Each task has exactly one such event, equal to what `getTask` returns. */
        TaskDone: {
            /**
             * @description The only kind of event.
             * @enum {string}
             */
            event: "task_done";
            /** @description The id of the terminal task. */
            request_id: components["schemas"]["RequestId"];
            /**
             * @description The task's status; `failed` includes cancellation and timeout.
             * @enum {string}
             */
            status: "success" | "failed";
            /** @description An object on `success`, otherwise null. */
            result: components["schemas"]["TaskResult"] | null;
            /** @description Why the task failed, otherwise null; the same text as in the task. */
            error_info: string | null;
        };
        /** @description What the gateway knows of a task: its history, and why it has no agent. */
        TaskExplanation: {
            /** @description The task's id. */
            request_id: components["schemas"]["RequestId"];
            /** @description The task's status. */
            status: components["schemas"]["TaskStatus"];
            /** @description How the task ended; null while it is pending or running. */
            outcome: components["schemas"]["TaskOutcome"] | null;
            /** @description Seconds from submission that the task may wait for an agent; null if it may not wait. */
            queue_timeout: number | null;
            /** @description When the task was assigned to its last agent; null before, and of a task older than its history. */
            assigned_time: components["schemas"]["EpochSeconds"] | null;
            /** @description When the task ended; null while it is pending or running. */
            ended_time: components["schemas"]["EpochSeconds"] | null;
            /** @description When the task fails with `timeout`, or would have. */
            deadline_time: components["schemas"]["EpochSeconds"];
            /**
             * @description What happened to the task, oldest first: `submitted` first and, of a task that ended, its outcome last.
             *     After a crash of the gateway, or when another replica took the result, the `push_taken` of the last 250
             *     milliseconds may be missing.
             */
            history: components["schemas"]["HistoryEntry"][];
            /** @description How many entries were dropped from the middle of the history, to keep it short. */
            history_dropped: components["schemas"]["Count"];
            /**
             * @description Which agents qualify: now (`live`), for a task that is pending or that waits for another agent; as the
             *     decision saw it, for a task that ended because no agent qualified. Otherwise null.
             */
            match: components["schemas"]["TaskMatch"] | null;
            /** @description What is wrong and what to do, in English; its wording may change. Null if nothing need be done. */
            hint: string | null;
            /** @description The same for programs, the most promising first. */
            remedies: components["schemas"]["Remedy"][];
        };
        /** @description A task. It has the same twelve fields in every response and every push. */
        TaskInfo: {
            /** @description The task's id, assigned by the gateway and used in paths and events. */
            request_id: components["schemas"]["RequestId"];
            /** @description The kind of task, as submitted. */
            task_type: components["schemas"]["Name"];
            /** @description The tags that are matched against the tags of agents, as submitted. */
            task_tags: components["schemas"]["Tags"];
            /** @description Free-form, as submitted. */
            payload: components["schemas"]["FreeForm"];
            /** @description The task's status. */
            status: components["schemas"]["TaskStatus"];
            /** @description The agent the task is assigned to; null until it is assigned. A terminal task keeps it. */
            agent_id: components["schemas"]["Name"] | null;
            /** @description The session whose stream gets the task's `task_done` event; empty for none. */
            cli_session_id: components["schemas"]["SessionId"];
            /** @description When the task was submitted, in Unix epoch seconds: a decimal number with millisecond precision. */
            create_time: components["schemas"]["EpochSeconds"];
            /**
             * Format: double
             * @description Seconds from `create_time` until the task fails with `timeout`, as submitted.
             */
            timeout: number;
            /**
             * Format: int32
             * @description 0 to 100, initially 0. Never decreases.
             */
            progress: number;
            /** @description An object on `success`, otherwise null. */
            result: components["schemas"]["TaskResult"] | null;
            /**
             * @description Why the task failed, otherwise null: `cancelled by user`, `timeout`, `无可用 Agent` (no agent qualified: no
             *     common tag, wrong state, or full), `agent lost: no contact for N s`, or the text the agent reported.
             */
            error_info: string | null;
        };
        /** @description Which agents qualify for a set of tags. */
        TaskMatch: {
            /** @description When this was so. */
            time: components["schemas"]["EpochSeconds"];
            /** @description Whether it is so now; otherwise it is what the decision saw that ended the task. */
            live: boolean;
            /** @description How many agents are registered. */
            agents_total: components["schemas"]["Count"];
            /** @description How many of them share a tag, and what keeps them from the task. */
            sharing: components["schemas"]["MatchCounts"];
            /** @description The tags that were asked for, each once. */
            tags: components["schemas"]["MatchTag"][];
            /**
             * @description The nearest agents: those that share most tags first, those that qualify before others; then up to 5 that
             *     share no tag, those with a similar one first.
             */
            agents: components["schemas"]["MatchAgent"][];
        };
        /**
         * @description How a task ended: `success`; `failed` (its agent reported it), `cancelled`, `timeout`, `no_agent` (no agent
         *     qualified in time) or `agent_lost` (its agent had no contact for its `lost_after`). Later versions may add
         *     others.
         */
        TaskOutcome: string | ("success" | "failed" | "cancelled" | "timeout" | "no_agent" | "agent_lost");
        /** @description A page of tasks. */
        TaskPage: {
            /** @description Newest first by `create_time`, then `request_id`. May be short or empty even if more tasks follow. */
            tasks: components["schemas"]["TaskInfo"][];
            /** @description The `cursor` of the next page; null if there is none. */
            next_cursor: string | null;
        };
        /** @description The progress or the result of a task. */
        TaskReport: {
            /**
             * @description The gateway secret. Optional unless the gateway is configured to require it of agents; a wrong one is
             *     refused.
             */
            auth?: components["schemas"]["Secret"];
            /** @description The task's id. */
            request_id: components["schemas"]["RequestId"];
            /** @description The id of the agent that worked on it. */
            agent_id: components["schemas"]["Name"];
            /**
             * @description `success` and `failed` make the task terminal; `running` only reports progress.
             * @enum {string}
             */
            status: "success" | "failed" | "running";
            /**
             * Format: int32
             * @description 0 to 100. Never decreases; counts only from the agent that has the task now, with `running` and with
             *     `failed`. On `success` it becomes 100.
             */
            progress?: number;
            /**
             * @description On `success` the result; null or absent is stored as `{}`. Of the results reported with `running` the
             *     first `reply` is kept for the final result. On `failed` it is dropped.
             */
            result?: components["schemas"]["TaskResult"] | null;
            /** @description On `failed` the reason, for people; null, absent or empty becomes `agent reported failure`. */
            error_info?: string | null;
        };
        /**
         * @description The result of an agent's work. The contract defines two keys; all others are passed through unchanged. An
         *     agent may send only `output`, or no result at all: then the result is `{}`.
         */
        TaskResult: {
            /** @description The agent's first complete reply after accepting the task. */
            reply?: string;
            /** @description The agent's final summary after finishing the task. */
            output?: string;
        } & {
            [key: string]: unknown;
        };
        /**
         * @description The status of a task: `pending` (queued, no agent yet), `running` (assigned to an agent), `success`, or
         *     `failed` (failed, cancelled or timed out). `success` and `failed` are terminal: such a task never changes
         *     again.
         * @enum {string}
         */
        TaskStatus: "pending" | "running" | "success" | "failed";
        /** @description A task to submit. */
        TaskSubmission: {
            /** @description The gateway secret. Required here even if the query or a header has it too. */
            auth: components["schemas"]["Secret"];
            /** @description The kind of task; passed to the agent, not interpreted. */
            task_type: components["schemas"]["Name"];
            /**
             * @description The tags to match: an agent qualifies if it has at least one of them. With `[]` no agent qualifies, and
             *     the task fails with `无可用 Agent`.
             */
            task_tags: components["schemas"]["Tags"];
            /** @description The input for the agent. A number too large for a double is refused. */
            payload: components["schemas"]["FreeForm"];
            /**
             * @description The session whose stream gets the task's `task_done` event, exactly as given when subscribing. Without
             *     it: no stream.
             * @default
             */
            cli_session_id?: components["schemas"]["SessionId"];
            /**
             * Format: double
             * @description Seconds from submission until the task fails with `timeout`, waiting and running together; decimals are
             *     allowed. Returned as sent, enforced at 604,800 (7 days) at most.
             * @default 600
             */
            timeout?: number;
            /**
             * Format: double
             * @description Seconds from submission that the task may wait for an agent before it fails with `无可用 Agent`. Without it
             *     a task fails at once if no agent is free. The wait never exceeds `timeout`; if both are due at the same
             *     time, the task fails with `timeout`.
             */
            queue_timeout?: number;
        };
        /**
         * @description Too many streams are open, of this session (100) or in total (20,000). Close some, or retry after
         *     `Retry-After`.
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
            /** @description The problem in a few words; the same for all problems of this code. */
            title: string;
            /**
             * @description The HTTP status of the response.
             * @enum {number}
             */
            status: 429;
            /** @description One sentence about this request: what is wrong and what to send instead. */
            detail: string;
            /**
             * @description The code to branch on: stable within a major version.
             * @enum {string}
             */
            code: "too_many_streams";
        };
        /**
         * @description The secret is wrong, or missing where it is required. Retrying does not help: configure the right secret.
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
            /** @description The problem in a few words; the same for all problems of this code. */
            title: string;
            /**
             * @description The HTTP status of the response.
             * @enum {number}
             */
            status: 401;
            /** @description One sentence about this request: what is wrong and what to send instead. */
            detail: string;
            /**
             * @description The code to branch on: stable within a major version.
             * @enum {string}
             */
            code: "unauthorized";
        };
        /**
         * @description Fields are missing or have a wrong type or size (`validation_failed`), or the `Idempotency-Key` was used
         *     before with different content (`idempotency_conflict`: use a new key). Correct what `errors` names;
         *     retrying the same request does not help.
         */
        Unprocessable: {
            /** @description `urn:task-gateway:problem:` and the code. */
            type: string;
            /** @description The problem in a few words; the same for all problems of this code. */
            title: string;
            /**
             * @description The HTTP status of the response.
             * @enum {number}
             */
            status: 422;
            /** @description One sentence about this request: what is wrong and what to send instead. */
            detail: string;
            /**
             * @description The code to branch on: stable within a major version.
             * @enum {string}
             */
            code: "validation_failed" | "idempotency_conflict";
            /** @description All errors in the request, one entry each. */
            errors: components["schemas"]["FieldError"][];
        };
        /**
         * @description The body has a `Content-Encoding`, or it comes from a web page (the request has an `Origin` header) without
         *     `Content-Type: application/json`. Any other body is read as JSON, whatever its header says.
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
            /** @description The problem in a few words; the same for all problems of this code. */
            title: string;
            /**
             * @description The HTTP status of the response.
             * @enum {number}
             */
            status: 415;
            /** @description One sentence about this request: what is wrong and what to send instead. */
            detail: string;
            /**
             * @description The code to branch on: stable within a major version.
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
         * @description The version of the contract the gateway implements. Within a major version the contract only grows.
         * @example 1.0.0
         */
        "Task-Gateway-Version": string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    previewMatch: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MatchQuery"];
            };
        };
        responses: {
            /** @description Which agents qualify now. */
            200: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MatchPreview"];
                };
            };
            /**
             * @description The request can't be processed as it is. `malformed_body`: the body is not JSON, has a byte-order mark or
             *     is not valid UTF-8; send it again as UTF-8. `agent_id_missing`: send the id of the agent that calls.
             *     `agent_mismatch`: the task was never assigned to this agent (for `running`: is not assigned to it now);
             *     drop the report. `task_terminal`: the task was already terminal; get it instead.
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
            /** @description The secret is wrong, or missing where it is required. Retrying does not help: configure the right secret. */
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
             * @description The request comes from a web page of an origin that is not allowed. While the gateway uses its default
             *     secret, which is public, only pages of its own machine and of configured origins are served.
             */
            403: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Forbidden"];
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
             * @description The body has a `Content-Encoding`, or it comes from a web page (the request has an `Origin` header) without
             *     `Content-Type: application/json`. Any other body is read as JSON, whatever its header says.
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
             * @description The `Host` of the request is not a name of this gateway. While the gateway uses its default secret, which
             *     is public, it serves requests to `localhost`, to a loopback address and to the names of `ALLOWED_HOSTS`
             *     alone.
             */
            421: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Misdirected"];
                };
            };
            /**
             * @description Fields are missing or have a wrong type or size (`validation_failed`), or the `Idempotency-Key` was used
             *     before with different content (`idempotency_conflict`: use a new key). Correct what `errors` names;
             *     retrying the same request does not help.
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
            /**
             * @description A fault in the gateway. The response does not state the cause; retry with care (`submitTask`: with the same
             *     `Idempotency-Key`).
             */
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
             * @description The request can't be processed now; retry after `Retry-After`. `busy`: 100,000 tasks are pending or
             *     running, 20,000 agents are registered, or bodies take all the memory there is for them (of which one remote
             *     address has at most half), and nothing was changed. `store_unavailable`: the store does not respond; it is
             *     unknown whether a change was made.
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
    submitTask: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A text chosen by the client, a new one for each task: 1 to 255 printable ASCII characters. Kept for 24
                 *     hours from its first use. All accepted fields except `auth` are compared; different content is refused
                 *     with 422.
                 */
                "Idempotency-Key"?: string;
                /**
                 * @description The trace that the task belongs to (W3C Trace Context). It is kept with the task, and comes with each
                 *     of its pushes and with the claim that returns it. A malformed one is ignored. A repeat under an
                 *     `Idempotency-Key` may have another one; the first counts.
                 */
                traceparent?: string;
                /**
                 * @description What tracing systems add to `traceparent`, kept beside it: at most 512 characters, of a longer one the
                 *     first parts. Ignored if it is malformed or if `traceparent` is.
                 */
                tracestate?: string;
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
             * @description The request can't be processed as it is. `malformed_body`: the body is not JSON, has a byte-order mark or
             *     is not valid UTF-8; send it again as UTF-8. `agent_id_missing`: send the id of the agent that calls.
             *     `agent_mismatch`: the task was never assigned to this agent (for `running`: is not assigned to it now);
             *     drop the report. `task_terminal`: the task was already terminal; get it instead.
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
            /** @description The secret is wrong, or missing where it is required. Retrying does not help: configure the right secret. */
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
             * @description The request comes from a web page of an origin that is not allowed. While the gateway uses its default
             *     secret, which is public, only pages of its own machine and of configured origins are served.
             */
            403: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Forbidden"];
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
             * @description The body has a `Content-Encoding`, or it comes from a web page (the request has an `Origin` header) without
             *     `Content-Type: application/json`. Any other body is read as JSON, whatever its header says.
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
             * @description The `Host` of the request is not a name of this gateway. While the gateway uses its default secret, which
             *     is public, it serves requests to `localhost`, to a loopback address and to the names of `ALLOWED_HOSTS`
             *     alone.
             */
            421: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Misdirected"];
                };
            };
            /**
             * @description Fields are missing or have a wrong type or size (`validation_failed`), or the `Idempotency-Key` was used
             *     before with different content (`idempotency_conflict`: use a new key). Correct what `errors` names;
             *     retrying the same request does not help.
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
            /**
             * @description A fault in the gateway. The response does not state the cause; retry with care (`submitTask`: with the same
             *     `Idempotency-Key`).
             */
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
             * @description The request can't be processed now; retry after `Retry-After`. `busy`: 100,000 tasks are pending or
             *     running, 20,000 agents are registered, or bodies take all the memory there is for them (of which one remote
             *     address has at most half), and nothing was changed. `store_unavailable`: the store does not respond; it is
             *     unknown whether a change was made.
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
                /** @description Seconds to wait for the task to become terminal; over 60 counts as 60. */
                wait?: number;
            };
            header?: never;
            path: {
                /** @description The task's id as returned by `submitTask`. */
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
            /** @description The secret is wrong, or missing where it is required. Retrying does not help: configure the right secret. */
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
             * @description The request comes from a web page of an origin that is not allowed. While the gateway uses its default
             *     secret, which is public, only pages of its own machine and of configured origins are served.
             */
            403: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Forbidden"];
                };
            };
            /**
             * @description The task or the agent does not exist. `task_not_found`: the task was never submitted here, or became
             *     terminal longer ago than tasks are kept (24 hours). `agent_not_found`: the agent is not registered; it
             *     registers again.
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
             * @description The `Host` of the request is not a name of this gateway. While the gateway uses its default secret, which
             *     is public, it serves requests to `localhost`, to a loopback address and to the names of `ALLOWED_HOSTS`
             *     alone.
             */
            421: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Misdirected"];
                };
            };
            /**
             * @description Fields are missing or have a wrong type or size (`validation_failed`), or the `Idempotency-Key` was used
             *     before with different content (`idempotency_conflict`: use a new key). Correct what `errors` names;
             *     retrying the same request does not help.
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
            /**
             * @description A fault in the gateway. The response does not state the cause; retry with care (`submitTask`: with the same
             *     `Idempotency-Key`).
             */
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
             * @description The request can't be processed now; retry after `Retry-After`. `busy`: 100,000 tasks are pending or
             *     running, 20,000 agents are registered, or bodies take all the memory there is for them (of which one remote
             *     address has at most half), and nothing was changed. `store_unavailable`: the store does not respond; it is
             *     unknown whether a change was made.
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
                /** @description The task's id as returned by `submitTask`. */
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
             * @description The request can't be processed as it is. `malformed_body`: the body is not JSON, has a byte-order mark or
             *     is not valid UTF-8; send it again as UTF-8. `agent_id_missing`: send the id of the agent that calls.
             *     `agent_mismatch`: the task was never assigned to this agent (for `running`: is not assigned to it now);
             *     drop the report. `task_terminal`: the task was already terminal; get it instead.
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
            /** @description The secret is wrong, or missing where it is required. Retrying does not help: configure the right secret. */
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
             * @description The request comes from a web page of an origin that is not allowed. While the gateway uses its default
             *     secret, which is public, only pages of its own machine and of configured origins are served.
             */
            403: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Forbidden"];
                };
            };
            /**
             * @description The task or the agent does not exist. `task_not_found`: the task was never submitted here, or became
             *     terminal longer ago than tasks are kept (24 hours). `agent_not_found`: the agent is not registered; it
             *     registers again.
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
             * @description The `Host` of the request is not a name of this gateway. While the gateway uses its default secret, which
             *     is public, it serves requests to `localhost`, to a loopback address and to the names of `ALLOWED_HOSTS`
             *     alone.
             */
            421: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Misdirected"];
                };
            };
            /**
             * @description A fault in the gateway. The response does not state the cause; retry with care (`submitTask`: with the same
             *     `Idempotency-Key`).
             */
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
             * @description The request can't be processed now; retry after `Retry-After`. `busy`: 100,000 tasks are pending or
             *     running, 20,000 agents are registered, or bodies take all the memory there is for them (of which one remote
             *     address has at most half), and nothing was changed. `store_unavailable`: the store does not respond; it is
             *     unknown whether a change was made.
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
    explainTask: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The task's id as returned by `submitTask`. */
                request_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The task explained. */
            200: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskExplanation"];
                };
            };
            /** @description The secret is wrong, or missing where it is required. Retrying does not help: configure the right secret. */
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
             * @description The request comes from a web page of an origin that is not allowed. While the gateway uses its default
             *     secret, which is public, only pages of its own machine and of configured origins are served.
             */
            403: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Forbidden"];
                };
            };
            /**
             * @description The task or the agent does not exist. `task_not_found`: the task was never submitted here, or became
             *     terminal longer ago than tasks are kept (24 hours). `agent_not_found`: the agent is not registered; it
             *     registers again.
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
             * @description The `Host` of the request is not a name of this gateway. While the gateway uses its default secret, which
             *     is public, it serves requests to `localhost`, to a loopback address and to the names of `ALLOWED_HOSTS`
             *     alone.
             */
            421: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Misdirected"];
                };
            };
            /**
             * @description A fault in the gateway. The response does not state the cause; retry with care (`submitTask`: with the same
             *     `Idempotency-Key`).
             */
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
             * @description The request can't be processed now; retry after `Retry-After`. `busy`: 100,000 tasks are pending or
             *     running, 20,000 agents are registered, or bodies take all the memory there is for them (of which one remote
             *     address has at most half), and nothing was changed. `store_unavailable`: the store does not respond; it is
             *     unknown whether a change was made.
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
                /** @description The session, exactly as given in the submission of its tasks. An unused session has an idle stream. */
                cli_session_id: components["schemas"]["Name"];
                /**
                 * @description The same as the header `Last-Event-ID`, for clients that can't send it. It counts when the header is
                 *     absent or empty.
                 */
                last_event_id?: string;
            };
            header?: {
                /** @description The `id` of the last event the client received. */
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
            /** @description The secret is wrong, or missing where it is required. Retrying does not help: configure the right secret. */
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
             * @description The request comes from a web page of an origin that is not allowed. While the gateway uses its default
             *     secret, which is public, only pages of its own machine and of configured origins are served.
             */
            403: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Forbidden"];
                };
            };
            /**
             * @description The `Host` of the request is not a name of this gateway. While the gateway uses its default secret, which
             *     is public, it serves requests to `localhost`, to a loopback address and to the names of `ALLOWED_HOSTS`
             *     alone.
             */
            421: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Misdirected"];
                };
            };
            /**
             * @description Fields are missing or have a wrong type or size (`validation_failed`), or the `Idempotency-Key` was used
             *     before with different content (`idempotency_conflict`: use a new key). Correct what `errors` names;
             *     retrying the same request does not help.
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
            /**
             * @description Too many streams are open, of this session (100) or in total (20,000). Close some, or retry after
             *     `Retry-After`.
             */
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
            /**
             * @description A fault in the gateway. The response does not state the cause; retry with care (`submitTask`: with the same
             *     `Idempotency-Key`).
             */
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
             * @description The request can't be processed now; retry after `Retry-After`. `busy`: 100,000 tasks are pending or
             *     running, 20,000 agents are registered, or bodies take all the memory there is for them (of which one remote
             *     address has at most half), and nothing was changed. `store_unavailable`: the store does not respond; it is
             *     unknown whether a change was made.
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
                    /**
                     * @description The trace of the task (W3C Trace Context), as it was submitted; absent if it was submitted without one. A
                     *     claim returns one task, so it is that task's.
                     */
                    traceparent?: string;
                    /** @description What tracing systems have added to `traceparent`, as it was submitted. */
                    tracestate?: string;
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
             * @description The request can't be processed as it is. `malformed_body`: the body is not JSON, has a byte-order mark or
             *     is not valid UTF-8; send it again as UTF-8. `agent_id_missing`: send the id of the agent that calls.
             *     `agent_mismatch`: the task was never assigned to this agent (for `running`: is not assigned to it now);
             *     drop the report. `task_terminal`: the task was already terminal; get it instead.
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
            /** @description The secret is wrong, or missing where it is required. Retrying does not help: configure the right secret. */
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
             * @description The request comes from a web page of an origin that is not allowed. While the gateway uses its default
             *     secret, which is public, only pages of its own machine and of configured origins are served.
             */
            403: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Forbidden"];
                };
            };
            /**
             * @description The task or the agent does not exist. `task_not_found`: the task was never submitted here, or became
             *     terminal longer ago than tasks are kept (24 hours). `agent_not_found`: the agent is not registered; it
             *     registers again.
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
             * @description The body has a `Content-Encoding`, or it comes from a web page (the request has an `Origin` header) without
             *     `Content-Type: application/json`. Any other body is read as JSON, whatever its header says.
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
             * @description The `Host` of the request is not a name of this gateway. While the gateway uses its default secret, which
             *     is public, it serves requests to `localhost`, to a loopback address and to the names of `ALLOWED_HOSTS`
             *     alone.
             */
            421: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Misdirected"];
                };
            };
            /**
             * @description Fields are missing or have a wrong type or size (`validation_failed`), or the `Idempotency-Key` was used
             *     before with different content (`idempotency_conflict`: use a new key). Correct what `errors` names;
             *     retrying the same request does not help.
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
            /**
             * @description A fault in the gateway. The response does not state the cause; retry with care (`submitTask`: with the same
             *     `Idempotency-Key`).
             */
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
             * @description The request can't be processed now; retry after `Retry-After`. `busy`: 100,000 tasks are pending or
             *     running, 20,000 agents are registered, or bodies take all the memory there is for them (of which one remote
             *     address has at most half), and nothing was changed. `store_unavailable`: the store does not respond; it is
             *     unknown whether a change was made.
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
            /** @description The gateway has received the heartbeat. */
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
             * @description The request can't be processed as it is. `malformed_body`: the body is not JSON, has a byte-order mark or
             *     is not valid UTF-8; send it again as UTF-8. `agent_id_missing`: send the id of the agent that calls.
             *     `agent_mismatch`: the task was never assigned to this agent (for `running`: is not assigned to it now);
             *     drop the report. `task_terminal`: the task was already terminal; get it instead.
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
            /** @description The secret is wrong, or missing where it is required. Retrying does not help: configure the right secret. */
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
             * @description The request comes from a web page of an origin that is not allowed. While the gateway uses its default
             *     secret, which is public, only pages of its own machine and of configured origins are served.
             */
            403: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Forbidden"];
                };
            };
            /**
             * @description The task or the agent does not exist. `task_not_found`: the task was never submitted here, or became
             *     terminal longer ago than tasks are kept (24 hours). `agent_not_found`: the agent is not registered; it
             *     registers again.
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
             * @description The body has a `Content-Encoding`, or it comes from a web page (the request has an `Origin` header) without
             *     `Content-Type: application/json`. Any other body is read as JSON, whatever its header says.
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
             * @description The `Host` of the request is not a name of this gateway. While the gateway uses its default secret, which
             *     is public, it serves requests to `localhost`, to a loopback address and to the names of `ALLOWED_HOSTS`
             *     alone.
             */
            421: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Misdirected"];
                };
            };
            /**
             * @description Fields are missing or have a wrong type or size (`validation_failed`), or the `Idempotency-Key` was used
             *     before with different content (`idempotency_conflict`: use a new key). Correct what `errors` names;
             *     retrying the same request does not help.
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
            /**
             * @description A fault in the gateway. The response does not state the cause; retry with care (`submitTask`: with the same
             *     `Idempotency-Key`).
             */
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
             * @description The request can't be processed now; retry after `Retry-After`. `busy`: 100,000 tasks are pending or
             *     running, 20,000 agents are registered, or bodies take all the memory there is for them (of which one remote
             *     address has at most half), and nothing was changed. `store_unavailable`: the store does not respond; it is
             *     unknown whether a change was made.
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
             * @description The request can't be processed as it is. `malformed_body`: the body is not JSON, has a byte-order mark or
             *     is not valid UTF-8; send it again as UTF-8. `agent_id_missing`: send the id of the agent that calls.
             *     `agent_mismatch`: the task was never assigned to this agent (for `running`: is not assigned to it now);
             *     drop the report. `task_terminal`: the task was already terminal; get it instead.
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
            /** @description The secret is wrong, or missing where it is required. Retrying does not help: configure the right secret. */
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
             * @description The request comes from a web page of an origin that is not allowed. While the gateway uses its default
             *     secret, which is public, only pages of its own machine and of configured origins are served.
             */
            403: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Forbidden"];
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
             * @description The body has a `Content-Encoding`, or it comes from a web page (the request has an `Origin` header) without
             *     `Content-Type: application/json`. Any other body is read as JSON, whatever its header says.
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
             * @description The `Host` of the request is not a name of this gateway. While the gateway uses its default secret, which
             *     is public, it serves requests to `localhost`, to a loopback address and to the names of `ALLOWED_HOSTS`
             *     alone.
             */
            421: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Misdirected"];
                };
            };
            /**
             * @description Fields are missing or have a wrong type or size (`validation_failed`), or the `Idempotency-Key` was used
             *     before with different content (`idempotency_conflict`: use a new key). Correct what `errors` names;
             *     retrying the same request does not help.
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
            /**
             * @description A fault in the gateway. The response does not state the cause; retry with care (`submitTask`: with the same
             *     `Idempotency-Key`).
             */
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
             * @description The request can't be processed now; retry after `Retry-After`. `busy`: 100,000 tasks are pending or
             *     running, 20,000 agents are registered, or bodies take all the memory there is for them (of which one remote
             *     address has at most half), and nothing was changed. `store_unavailable`: the store does not respond; it is
             *     unknown whether a change was made.
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
            header?: {
                /**
                 * @description The trace that the report belongs to (W3C Trace Context): the one that came with the push or the claim,
                 *     or a span of the agent's below it. It names the parent of the gateway's own span, where the gateway is
                 *     traced, and has no effect else. A malformed one is ignored.
                 */
                traceparent?: string;
                /** @description What tracing systems add to `traceparent`: at most 512 characters. */
                tracestate?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TaskReport"];
            };
        };
        responses: {
            /** @description The gateway has received the report. */
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
             * @description The request can't be processed as it is. `malformed_body`: the body is not JSON, has a byte-order mark or
             *     is not valid UTF-8; send it again as UTF-8. `agent_id_missing`: send the id of the agent that calls.
             *     `agent_mismatch`: the task was never assigned to this agent (for `running`: is not assigned to it now);
             *     drop the report. `task_terminal`: the task was already terminal; get it instead.
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
            /** @description The secret is wrong, or missing where it is required. Retrying does not help: configure the right secret. */
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
             * @description The request comes from a web page of an origin that is not allowed. While the gateway uses its default
             *     secret, which is public, only pages of its own machine and of configured origins are served.
             */
            403: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Forbidden"];
                };
            };
            /**
             * @description The task or the agent does not exist. `task_not_found`: the task was never submitted here, or became
             *     terminal longer ago than tasks are kept (24 hours). `agent_not_found`: the agent is not registered; it
             *     registers again.
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
             * @description The body has a `Content-Encoding`, or it comes from a web page (the request has an `Origin` header) without
             *     `Content-Type: application/json`. Any other body is read as JSON, whatever its header says.
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
             * @description The `Host` of the request is not a name of this gateway. While the gateway uses its default secret, which
             *     is public, it serves requests to `localhost`, to a loopback address and to the names of `ALLOWED_HOSTS`
             *     alone.
             */
            421: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Misdirected"];
                };
            };
            /**
             * @description Fields are missing or have a wrong type or size (`validation_failed`), or the `Idempotency-Key` was used
             *     before with different content (`idempotency_conflict`: use a new key). Correct what `errors` names;
             *     retrying the same request does not help.
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
            /**
             * @description A fault in the gateway. The response does not state the cause; retry with care (`submitTask`: with the same
             *     `Idempotency-Key`).
             */
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
             * @description The request can't be processed now; retry after `Retry-After`. `busy`: 100,000 tasks are pending or
             *     running, 20,000 agents are registered, or bodies take all the memory there is for them (of which one remote
             *     address has at most half), and nothing was changed. `store_unavailable`: the store does not respond; it is
             *     unknown whether a change was made.
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
             * @description The request can't be processed as it is. `malformed_body`: the body is not JSON, has a byte-order mark or
             *     is not valid UTF-8; send it again as UTF-8. `agent_id_missing`: send the id of the agent that calls.
             *     `agent_mismatch`: the task was never assigned to this agent (for `running`: is not assigned to it now);
             *     drop the report. `task_terminal`: the task was already terminal; get it instead.
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
            /** @description The secret is wrong, or missing where it is required. Retrying does not help: configure the right secret. */
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
             * @description The request comes from a web page of an origin that is not allowed. While the gateway uses its default
             *     secret, which is public, only pages of its own machine and of configured origins are served.
             */
            403: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Forbidden"];
                };
            };
            /**
             * @description The task or the agent does not exist. `task_not_found`: the task was never submitted here, or became
             *     terminal longer ago than tasks are kept (24 hours). `agent_not_found`: the agent is not registered; it
             *     registers again.
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
             * @description The body has a `Content-Encoding`, or it comes from a web page (the request has an `Origin` header) without
             *     `Content-Type: application/json`. Any other body is read as JSON, whatever its header says.
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
             * @description The `Host` of the request is not a name of this gateway. While the gateway uses its default secret, which
             *     is public, it serves requests to `localhost`, to a loopback address and to the names of `ALLOWED_HOSTS`
             *     alone.
             */
            421: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Misdirected"];
                };
            };
            /**
             * @description Fields are missing or have a wrong type or size (`validation_failed`), or the `Idempotency-Key` was used
             *     before with different content (`idempotency_conflict`: use a new key). Correct what `errors` names;
             *     retrying the same request does not help.
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
            /**
             * @description A fault in the gateway. The response does not state the cause; retry with care (`submitTask`: with the same
             *     `Idempotency-Key`).
             */
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
             * @description The request can't be processed now; retry after `Retry-After`. `busy`: 100,000 tasks are pending or
             *     running, 20,000 agents are registered, or bodies take all the memory there is for them (of which one remote
             *     address has at most half), and nothing was changed. `store_unavailable`: the store does not respond; it is
             *     unknown whether a change was made.
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
            /** @description The secret is wrong, or missing where it is required. Retrying does not help: configure the right secret. */
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
             * @description The request comes from a web page of an origin that is not allowed. While the gateway uses its default
             *     secret, which is public, only pages of its own machine and of configured origins are served.
             */
            403: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Forbidden"];
                };
            };
            /**
             * @description The `Host` of the request is not a name of this gateway. While the gateway uses its default secret, which
             *     is public, it serves requests to `localhost`, to a loopback address and to the names of `ALLOWED_HOSTS`
             *     alone.
             */
            421: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Misdirected"];
                };
            };
            /**
             * @description A fault in the gateway. The response does not state the cause; retry with care (`submitTask`: with the same
             *     `Idempotency-Key`).
             */
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
             * @description The request can't be processed now; retry after `Retry-After`. `busy`: 100,000 tasks are pending or
             *     running, 20,000 agents are registered, or bodies take all the memory there is for them (of which one remote
             *     address has at most half), and nothing was changed. `store_unavailable`: the store does not respond; it is
             *     unknown whether a change was made.
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
                /** @description Only tasks with this status. */
                status?: components["schemas"]["TaskStatus"];
                /** @description Only tasks of this `task_type`. */
                type?: components["schemas"]["Name"];
                /** @description Only tasks with this tag. */
                tag?: components["schemas"]["Name"];
                /** @description Only tasks of this `cli_session_id`. */
                session?: components["schemas"]["Name"];
                /** @description Only tasks whose `agent_id` is this one. */
                agent?: components["schemas"]["Name"];
                /** @description Where to continue: the `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
                /** @description The maximum number of tasks. */
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
            /** @description The secret is wrong, or missing where it is required. Retrying does not help: configure the right secret. */
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
             * @description The request comes from a web page of an origin that is not allowed. While the gateway uses its default
             *     secret, which is public, only pages of its own machine and of configured origins are served.
             */
            403: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Forbidden"];
                };
            };
            /**
             * @description The `Host` of the request is not a name of this gateway. While the gateway uses its default secret, which
             *     is public, it serves requests to `localhost`, to a loopback address and to the names of `ALLOWED_HOSTS`
             *     alone.
             */
            421: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Misdirected"];
                };
            };
            /**
             * @description Fields are missing or have a wrong type or size (`validation_failed`), or the `Idempotency-Key` was used
             *     before with different content (`idempotency_conflict`: use a new key). Correct what `errors` names;
             *     retrying the same request does not help.
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
            /**
             * @description A fault in the gateway. The response does not state the cause; retry with care (`submitTask`: with the same
             *     `Idempotency-Key`).
             */
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
             * @description The request can't be processed now; retry after `Retry-After`. `busy`: 100,000 tasks are pending or
             *     running, 20,000 agents are registered, or bodies take all the memory there is for them (of which one remote
             *     address has at most half), and nothing was changed. `store_unavailable`: the store does not respond; it is
             *     unknown whether a change was made.
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
