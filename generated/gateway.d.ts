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
    "/api/cli/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Subscribe to events
         * @description Streams the `task_done` events of a session: first the stored events, then live ones, in the order in
         *     which the tasks became terminal. The stream stays open. A reader that comes late gets everything that
         *     is stored; subscribe before you submit to learn of an end the moment it happens. Events are kept for 24
         *     hours, at most 100,000 per session, unless the gateway's operator changes that. The response is never
         *     cached, compressed or buffered (`Cache-Control: no-store, no-transform`, `X-Accel-Buffering: no`).
         *
         *     After a disconnect, reconnect with the last `id` as `Last-Event-ID` (`EventSource` does): the stream
         *     continues after it. With an id unknown to the session all events are sent again, so that none is lost:
         *     recognise repeats by `request_id`. A reader that reads nothing for 30 to 60 seconds is disconnected. If
         *     the stream is unavailable, poll the task.
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
    "/api/cli/tasks/{request_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a task
         * @description Returns a task. With `wait` the response is sent when the task is terminal or the time is over, and
         *     holds the task as it is then. Safe to repeat. A task and its output are kept for 24 hours after it
         *     becomes terminal, unless the gateway's operator changes that. The administrator's secret is accepted
         *     instead of the gateway secret.
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
         *     or timed out. The gateway forgets the agent at once, and a claim of it gets 204 when its `wait` is over.
         *     If the same `agent_id` registers again, it still has its running tasks, its place among equal agents and
         *     its `cancelled_request_ids`, and for 90 seconds the administrator's drain. For an unknown agent the call
         *     returns 404; nothing is left to do. Send the `registration` that register returned: then a process that
         *     ends late does not unregister its successor.
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
         *     finds no agent. With `limit` it returns a page, with an `ETag`, in this order: agents that fail; those
         *     that are offline, even if they fail too (those with tasks before the others, the latest first); full
         *     ones; draining ones; all others; and equal ones by `agent_id`.
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
    "/api/cli/tasks/{request_id}/output": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read or follow output
         * @description Returns the output of a task: a page, or with `Accept: text/event-stream` a stream that follows it to the
         *     end of the task. With `wait` a page waits for its first piece or the end of the task. The
         *     administrator's secret is accepted instead of the gateway secret. A stream has the headers, the pings and
         *     the limits of `subscribeEvents`.
         */
        get: operations["readOutput"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/cli/tasks/{request_id}/answer": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Answer a question
         * @description Stores the answer to a question that the agent of a running task has asked; `readOutput` shows
         *     questions and answers. The first answer counts: the same one again is a success, another one gets 400.
         *     Questions and answers are the same if they are equal as JSON values, whatever the order of their keys.
         *     Every holder of the gateway secret may answer, and every reader sees the answer. A terminal task is not
         *     changed.
         */
        post: operations["answerTask"];
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
    "/api/agent/output": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Write output
         * @description Adds pieces to the output of a task; the guide says how under "Output while it runs". Only the agent
         *     that has the task now may write. Repeat the same call until there is a response. A write is contact,
         *     and acknowledges the task. On 404 `task_not_found` and on 400 `agent_mismatch` drop the pieces; on 404
         *     `agent_not_found` register, then write again.
         */
        post: operations["writeOutput"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agent/answer": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Claim an answer
         * @description Returns the answer to a question that the agent has asked with `writeOutput`. 204 means that there was
         *     none within `wait` seconds: claim again. An answer stays with its key: an agent that asks the same
         *     again after a restart gets it at once, and readers get it again behind the question. On 400 `not_asked`
         *     ask again; on `task_terminal` and `agent_mismatch`, and on 404 `task_not_found`, drop the task. A claim
         *     is contact as long as it waits.
         */
        post: operations["claimAnswer"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/admin/overview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the overview
         * @description Returns whether tasks run, and what is wrong: counts, the last 15 minutes, who failed in them, demand and
         *     supply of each tag, the oldest waiting tasks and a list of problems. It costs the same however many tasks
         *     there are, and it returns 200 even while the store does not respond: then `store.ok` is false.
         */
        get: operations["getOverview"];
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
         * List and count tasks
         * @description Lists tasks as rows, newest first, in pages, and counts them on request; `getTask` returns a task with
         *     its whole payload and result. One call examines at most 1,000 tasks, so a page may be short or empty
         *     while `next_cursor` is not null: continue with it.
         *
         *     With `waiting_for_answer=true` it lists the tasks whose agents wait for `answerTask`, the one that has
         *     waited longest first; a note of `getOverview` names that task.
         *
         *     Counts without a filter, and by `status`, `waiting`, `waiting_for_answer` and `outcome` alone, are
         *     those of all stored tasks. With `ended_after` only the last 500 tasks that ended are examined; if more
         *     may have ended since that time, `complete` is false. With any other filter, and where `waiting` is
         *     combined with `waiting_for_answer`, or with one of the statuses `pending` and `running` without the
         *     other, at most 1,000 tasks are examined for them, the newest first: if there are more, `complete` is
         *     false.
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
    "/api/admin/tasks/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel many tasks
         * @description Cancels the pending and running tasks that match a filter, or those that are named. Each is cancelled as
         *     `cancelTask` does: it fails with `cancelled by user`, and a `task_done` event follows. One call examines
         *     at most 1,000 tasks and returns after about 2 seconds: repeat it with `next_cursor` until that is null.
         *     Safe to repeat.
         */
        post: operations["cancelTasks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/admin/agents/{agent_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get an agent
         * @description Returns an agent with its tasks, its contact in the last 10 minutes and the last pushes to it, to see
         *     whether it can be reached and what it does.
         */
        get: operations["getAgent"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/admin/agents/{agent_id}/drain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Drain an agent
         * @description Drains an agent, or ends that: a drained agent finishes the tasks that it has and gets no others. Neither
         *     its own `draining: false` nor a new registration ends it; the responses to the agent say `draining` as
         *     long as it lasts. Safe to repeat.
         */
        post: operations["drainAgent"];
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
        /** @description Steps of an agent's contact, a character each, oldest first: `1` if it happened in the step, else `0`. */
        ActivitySteps: string;
        /** @description An agent as administrators see it. Secrets are never listed. */
        Agent: {
            /** @description The agent's id. */
            agent_id: components["schemas"]["Name"];
            /** @description The URL tasks are pushed to, or `pull`. */
            endpoint: string;
            /** @description The agent's tags. */
            agent_tags: components["schemas"]["Tags"];
            /** @description The agent's state now. */
            state: components["schemas"]["AgentState"];
            /** @description Whether the administrator drains it; that also ends when the agent is forgotten. */
            drained_by_operator: boolean;
            /** @description Whether its load is at or above its maximum. */
            full: boolean;
            /**
             * @description Whether the agent does not take its pushes: all have failed since the last one that it took or was too
             *     busy for. It may still be eligible or full.
             */
            failing: boolean;
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
            /**
             * Format: int32
             * @description Of these: those that it has not yet taken, as far as the gateway that responds has seen.
             */
            unacknowledged: number;
            /** @description When the agent last registered. */
            registered_time: components["schemas"]["EpochSeconds"];
            /**
             * @description Whether the last one replaced a registration in contact less than 30 seconds before: a restart, or two
             *     processes.
             */
            replaced: boolean;
            /** @description When the agent last called, took a push or was too busy for one. */
            last_contact_time: components["schemas"]["EpochSeconds"];
            /** @description When the agent is offline if it stays silent; null if it never will be, or is already. */
            offline_time: components["schemas"]["EpochSeconds"] | null;
            /** @description Seconds without contact after which its running tasks fail; null: never. */
            lost_after: number | null;
            /** @description The pushes to the agent. */
            push: components["schemas"]["AgentPushes"];
        };
        /** @description The contact with an agent in the last 10 minutes, as far as the gateway that responds has seen it. */
        AgentActivity: {
            /** @description Seconds of one step: 15. */
            step: components["schemas"]["Count"];
            /** @description The end of the last step, which is not over. */
            to: components["schemas"]["EpochSeconds"];
            /** @description Steps in which the agent called, took a push or was too busy for one. */
            contact: components["schemas"]["ActivitySteps"];
            /** @description Steps in which a push to the agent failed. To be too busy is no failure. */
            push_failed: components["schemas"]["ActivitySteps"];
        };
        /** @description How many agents are registered, and in which condition. */
        AgentCounts: {
            /** @description Registered agents. */
            total: components["schemas"]["Count"];
            /** @description Of these: agents that are `ready`. */
            ready: components["schemas"]["Count"];
            /** @description Of these: agents that are `processing`. */
            processing: components["schemas"]["Count"];
            /** @description Of these: agents that are `draining`. */
            draining: components["schemas"]["Count"];
            /** @description Of these: agents that are `offline`. */
            offline: components["schemas"]["Count"];
            /** @description Agents at full load that are neither draining nor offline. */
            full: components["schemas"]["Count"];
            /** @description Agents that do not take their pushes, as `failing` of an agent says. */
            failing: components["schemas"]["Count"];
        };
        /** @description A request to unregister an agent. */
        AgentDeparture: {
            /** @description The gateway secret. Optional, unless the gateway requires it of agents; a wrong one is refused. */
            auth?: components["schemas"]["Secret"];
            /** @description The agent's id. */
            agent_id: components["schemas"]["Name"];
            /**
             * @description The token of the register response. If the agent has registered again since, nothing happens and the call
             *     returns 200: its successor stays registered.
             */
            registration?: components["schemas"]["RegistrationToken"];
        };
        /** @description An agent with its tasks and the last pushes to it. */
        AgentDetail: {
            /** @description The time that the response describes. */
            time: components["schemas"]["EpochSeconds"];
            /** @description The agent's id. */
            agent_id: components["schemas"]["Name"];
            /** @description The URL tasks are pushed to, or `pull`. */
            endpoint: string;
            /** @description The agent's tags. */
            agent_tags: components["schemas"]["Tags"];
            /** @description The agent's state now. */
            state: components["schemas"]["AgentState"];
            /** @description Whether the administrator drains it; that also ends when the agent is forgotten. */
            drained_by_operator: boolean;
            /** @description Whether its load is at or above its maximum. */
            full: boolean;
            /**
             * @description Whether the agent does not take its pushes: all have failed since the last one that it took or was too
             *     busy for. It may still be eligible or full.
             */
            failing: boolean;
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
            /**
             * Format: int32
             * @description Of these: those that it has not yet taken, as far as the gateway that responds has seen.
             */
            unacknowledged: number;
            /** @description When the agent last registered. */
            registered_time: components["schemas"]["EpochSeconds"];
            /**
             * @description Whether the last one replaced a registration in contact less than 30 seconds before: a restart, or two
             *     processes.
             */
            replaced: boolean;
            /** @description When the agent last called, took a push or was too busy for one. */
            last_contact_time: components["schemas"]["EpochSeconds"];
            /** @description When the agent is offline if it stays silent; null if it never will be, or is already. */
            offline_time: components["schemas"]["EpochSeconds"] | null;
            /** @description Seconds without contact after which its running tasks fail; null: never. */
            lost_after: number | null;
            /** @description The pushes to the agent. */
            push: components["schemas"]["AgentPushes"];
            /** @description Its contact in the last 10 minutes. */
            activity: components["schemas"]["AgentActivity"];
            /** @description The tasks it has, the oldest assignment first; the first 100. */
            slots: components["schemas"]["AgentTask"][];
            /** @description The last pushes to it of the gateway that responds, newest first. */
            pushes: components["schemas"]["AgentPush"][];
        };
        /** @description Whether an agent is drained. */
        AgentDrain: {
            /** @description True: the agent gets no more tasks. False: it gets tasks again, unless it asks for none itself. */
            draining: boolean;
        };
        /**
         * @description A heartbeat. The optional fields count only with the right `auth`. Without it the heartbeat is contact
         *     alone, and where other machines can send it, its `cancelled_request_ids` is empty.
         */
        AgentHeartbeat: {
            /** @description The gateway secret. Optional, unless the gateway requires it of agents; a wrong one is refused. */
            auth?: components["schemas"]["Secret"];
            /** @description The agent's id. */
            agent_id: components["schemas"]["Name"];
            /**
             * Format: int64
             * @description The agent's load now, as in `AgentRegistration`.
             */
            current_load?: number;
            /** @description The tasks the agent has accepted and not yet reported; acknowledges those assigned to it. */
            request_ids?: components["schemas"]["RequestIds"];
            /**
             * @description The token of the register response. If the agent has registered again since, by another process, then
             *     `current_load` and `draining` of this heartbeat do not change its successor.
             */
            registration?: components["schemas"]["RegistrationToken"];
            /**
             * @description True: the agent asks for no more tasks, until it sends `false` or registers again. It does
             *     not end a drain of the administrator.
             */
            draining?: boolean;
        };
        AgentNotFound: {
            /** @enum {number} */
            status: 404;
            code: "agent_not_found" | (string & {});
        } & Omit<components["schemas"]["ProblemDetails"], "status" | "code">;
        /** @description All agents, or a page of them. */
        AgentPage: {
            /** @description The time that the response describes. */
            time: components["schemas"]["EpochSeconds"];
            /** @description Without `limit`: all that match, by `agent_id`. With it: a page, those in trouble first. */
            agents: components["schemas"]["Agent"][];
            /**
             * Format: int32
             * @description The number of registered agents, those included that do not match.
             */
            total: number;
            /** @description All registered agents by state and condition. */
            counts: components["schemas"]["AgentCounts"];
            /** @description The `cursor` of the next page; null if there is none. */
            next_cursor: string | null;
        };
        /** @description One push to an agent. */
        AgentPush: {
            /** @description When it ended. */
            time: components["schemas"]["EpochSeconds"];
            /** @description The task that was pushed. */
            request_id: components["schemas"]["RequestId"];
            /** @description Whether the agent took the task. */
            outcome: components["schemas"]["PushOutcome"];
            /** @description The HTTP status of the agent's response; null if there was none. */
            status: components["schemas"]["HttpStatus"] | null;
            /** @description Why it was not taken, for people; else null. */
            error: string | null;
            /**
             * Format: double
             * @description Milliseconds that it took.
             */
            ms: number;
        };
        /**
         * @description The pushes to an agent. All gateways of one store know the last one; all else is what the gateway that
         *     responds has seen since its start.
         */
        AgentPushes: {
            /** @description The HTTP status of the agent's response; null if there was no response or nothing was pushed yet. */
            last_status: components["schemas"]["HttpStatus"] | null;
            /** @description Why the push failed, or that a `pull` agent did not claim its task, for people; otherwise null. */
            last_error: string | null;
            /** @description Milliseconds that the last push of this gateway took; null before the first. */
            last_ms: number | null;
            /** @description Pushes that failed since the last one that it took or was too busy for. */
            failures: components["schemas"]["Count"];
            /** @description Since when they fail; null while they do not. */
            failing_since: components["schemas"]["EpochSeconds"] | null;
            /**
             * @description When the gateway next pushes a task that the agent did not take or was too busy for; null if there is
             *     none, and while that push is under way.
             */
            next_attempt_time: components["schemas"]["EpochSeconds"] | null;
        };
        /** @description An agent's registration. */
        AgentRegistration: {
            /** @description The gateway secret. */
            auth: components["schemas"]["Secret"];
            /** @description The agent's id, chosen by the agent and stable across restarts; not `.` or `..`. */
            agent_id: components["schemas"]["Name"];
            /**
             * @description The URL tasks are pushed to: absolute, `http` or `https`, without user and password, read as
             *     the URL standard (WHATWG) parses it, so blanks around it and a missing `//` pass. Or the word `pull`:
             *     then nothing is pushed and the agent claims its tasks. Pushes to an address that the gateway's operator
             *     denies fail.
             */
            endpoint: string;
            /** @description The agent's abilities: it gets tasks that share at least one tag. */
            agent_tags: components["schemas"]["Tags"];
            /**
             * Format: int32
             * @description How many tasks the agent runs at once; with 0 it gets none.
             * @default 1
             */
            max_concurrent?: number;
            /**
             * Format: int64
             * @description The agent's load now, tasks of the gateway included. At or above `max_concurrent` the agent is full.
             *     The gateway subtracts the `request_ids` of the call, or else the tasks assigned to the agent now: what
             *     is left is external load. It stays until the agent sends another load, and the agent's tasks are added
             *     to it. It is below 2^63; above 2^53 it is read as a double.
             * @default 0
             */
            current_load?: number;
            /**
             * @description The tasks the agent has accepted and not yet reported. Naming an assigned task here acknowledges it. A
             *     task that the list leaves out counts as not taken: it is pushed again, or moves. Without a list no task
             *     does. The list makes the external load exact.
             */
            request_ids?: components["schemas"]["RequestIds"];
            /**
             * Format: double
             * @description Seconds without contact after which the agent is `offline`, if it was not before, and its running tasks
             *     fail, within 2 seconds, with `agent lost: no contact for N s` (N: the whole seconds of silence). A task
             *     that was assigned during the silence has as long from its assignment. A task that the agent certainly
             *     has not taken is offered to other agents first. Without `lost_after` tasks keep running until they are
             *     reported or time out.
             */
            lost_after?: number;
        };
        /**
         * @description An agent's state. `ready`: it runs no task. `processing`: it runs at least one. In both it gets tasks
         *     while its `current_load` is below `max_concurrent`. `draining`: it asked for no more tasks, or the
         *     administrator drains it. `offline`: it had no contact for too long, or responded 410 to a push. In these
         *     two it gets no tasks, and keeps those that run.
         */
        AgentState: string | ("ready" | "processing" | "draining" | "offline");
        /** @description A task that an agent has. */
        AgentTask: {
            /** @description The task's id. */
            request_id: components["schemas"]["RequestId"];
            /** @description The kind of task. */
            task_type: components["schemas"]["Name"];
            /** @description Whether the agent has certainly taken it. */
            acknowledged: boolean;
            /** @description When it was assigned to the agent. */
            assigned_time: components["schemas"]["EpochSeconds"];
            /**
             * Format: int32
             * @description 0 to 100.
             */
            progress: number;
        };
        /** @description An agent's request for the answer to its question. */
        AnswerClaim: {
            /** @description The gateway secret. */
            auth: components["schemas"]["Secret"];
            /** @description The id of the agent that has the task. */
            agent_id: components["schemas"]["Name"];
            /** @description The task's id. */
            request_id: components["schemas"]["RequestId"];
            /** @description The question's key. */
            key: components["schemas"]["QuestionKey"];
            /**
             * Format: double
             * @description Seconds to wait for the answer if there is none; more than 60 counts as 60.
             * @default 0
             */
            wait?: number;
        };
        /**
         * @description One field of an answer. `title`, `description` and `default` go with every `type`; `enum`, `minLength` and
         *     `maxLength` with `string`; `minimum` and `maximum` with `number` and `integer`.
         */
        AnswerField: {
            /**
             * @description What the field holds.
             * @enum {string}
             */
            type: "string" | "number" | "integer" | "boolean";
            /** @description Its name for people. */
            title?: string;
            /** @description More about it for people. */
            description?: string;
            /** @description What a form shows first. The gateway does not add it to an answer. */
            default?: string | number | boolean;
            /** @description The texts that may be chosen. */
            enum?: string[];
            /**
             * Format: int32
             * @description Code points of the text, at least.
             */
            minLength?: number;
            /**
             * Format: int32
             * @description Code points of the text, at most.
             */
            maxLength?: number;
            /**
             * Format: double
             * @description The smallest number allowed.
             */
            minimum?: number;
            /**
             * Format: double
             * @description The largest number allowed.
             */
            maximum?: number;
        };
        /** @description The fields of an answer by their names. At most 20. */
        AnswerFields: {
            [key: string]: components["schemas"]["AnswerField"];
        };
        /** @description The answer is stored. */
        AnswerReceipt: {
            /**
             * @description Always true.
             * @enum {boolean}
             */
            ok: true;
            /** @description The task's id. */
            request_id: components["schemas"]["RequestId"];
            /** @description The question's key. */
            key: components["schemas"]["QuestionKey"];
        };
        /**
         * @description The form of an answer: a flat object. An answer has the fields of `required`, may have the others, and has
         *     none beside them. As JSON at most 8 KiB.
         */
        AnswerSchema: {
            /**
             * @description Always `object`.
             * @enum {string}
             */
            type: "object";
            /** @description The fields by their names. */
            properties: components["schemas"]["AnswerFields"];
            /** @description The names of the fields that an answer must have. */
            required?: string[];
        };
        /** @description A question that the agent of a task has asked. */
        AskedQuestion: {
            /** @description Its key. */
            key: components["schemas"]["QuestionKey"];
            /** @description The question, as the agent wrote it. */
            prompt: string;
            /** @description When it was asked. */
            asked_time: components["schemas"]["EpochSeconds"];
            /** @description When it was answered; null while it is open. */
            answered_time: components["schemas"]["EpochSeconds"] | null;
        };
        /** @description The `next_cursor` of an earlier call. */
        CancelCursor: string;
        /**
         * @description Which tasks to cancel: those that match all filters that are given. `{}` matches every task. A field that
         *     is no filter is refused, so that a misspelt one does not cancel what it should have spared.
         */
        CancelFilter: {
            /** @description Only tasks with one of these statuses. */
            status?: components["schemas"]["StatusFilters"];
            /** @description Only tasks that ended in one of these ways: a task that can be cancelled never matches. */
            outcome?: components["schemas"]["OutcomeFilters"];
            /** @description `true`: only tasks that wait for an agent; `false`: only those that do not. */
            waiting?: boolean;
            /** @description `true`: only tasks that wait for an answer; `false`: only those that do not. */
            waiting_for_answer?: boolean;
            /** @description Only tasks of this `task_type`. */
            type?: components["schemas"]["Name"];
            /** @description Only tasks with this tag. */
            tag?: components["schemas"]["Name"];
            /** @description Only tasks of this `cli_session_id`. */
            session?: components["schemas"]["Name"];
            /** @description Only tasks whose `agent_id` is this one. */
            agent?: components["schemas"]["Name"];
            /** @description Only tasks whose `request_id` is this one or ends in it. */
            id?: components["schemas"]["RequestIdEnd"];
            /** @description Only tasks that were submitted at this time or later. */
            created_after?: components["schemas"]["EpochSeconds"];
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
        /** @description The result of one call. */
        CancellationReceipt: {
            /** @description The tasks that this call found: those it cancelled and those that had ended already. */
            matched: components["schemas"]["Count"];
            /** @description The tasks that this call cancelled; of a dry run, those it would have cancelled. */
            cancelled: components["schemas"]["Count"];
            /** @description The tasks that had ended already. With a filter only those that ended during the call. */
            already_ended: components["schemas"]["Count"];
            /** @description Of `request_ids`: those that are not stored. */
            not_found: components["schemas"]["Count"];
            /** @description The `cursor` of the next call; null when all have been looked at. */
            next_cursor: string | null;
        };
        /** @description The tasks to cancel, at most 1,000. */
        CancelledIds: components["schemas"]["RequestId"][];
        ChangeForbidden: {
            /** @enum {number} */
            status: 403;
            code: ("origin_not_allowed" | "read_only") | (string & {});
        } & Omit<components["schemas"]["ProblemDetails"], "status" | "code">;
        /** @description The console is `on`, `read-only` (it changes nothing) or `off` (it is not served). */
        ConsoleMode: string | ("on" | "read-only" | "off");
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
        /** @description The text of an error, cut after 200 characters. */
        ErrorBeginning: string;
        /** @description An error to look for, cut after 200 characters. */
        ErrorFilter: string;
        /**
         * @description Server-sent events in UTF-8. The stream begins with `retry: 2000` and a comment. Then each task is one
         *     frame: an `id:` line, one `data:` line with a `TaskDone` as JSON, an empty line. There is no `event:` line,
         *     so `EventSource.onmessage` gets them. The comment `: ping` is sent every 15 seconds. Where older events
         *     were deleted there is one frame of `: gap`, `event: gap` and `data: {}`, without an `id:`.
         */
        EventFrames: string;
        /** @description Tasks that failed for one cause: of one type, at one agent, with one outcome and one error. */
        FailureGroup: {
            /** @description The kind of task. */
            task_type: components["schemas"]["Name"];
            /** @description The agent that had them; null if none had. */
            agent_id: components["schemas"]["Name"] | null;
            /** @description How they ended: `failed`, `timeout` or `agent_lost`. */
            outcome: components["schemas"]["TaskOutcome"];
            /**
             * @description The beginning of the `error_info` of the last of them; null if it has none. Those of the others differ in
             *     numbers and ids at most: `timed out after 12000 ms` and `timed out after 950 ms` are one error.
             */
            error: components["schemas"]["ErrorBeginning"] | null;
            /** @description How many tasks these are. */
            count: components["schemas"]["Count"];
            /** @description How many tasks of this type ended at this agent in the same time: those that failed or succeeded. */
            ended: components["schemas"]["Count"];
            /** @description When the first of them ended. */
            first_time: components["schemas"]["EpochSeconds"];
            /** @description When the last of them ended. */
            last_time: components["schemas"]["EpochSeconds"];
            /** @description The id of the last of them. */
            request_id: components["schemas"]["RequestId"];
        };
        /** @description One error in a request. */
        FieldError: {
            /**
             * @description JSON Pointer (RFC 6901) to the value in the body, also to one that is missing; empty for the body
             *     itself. For a query parameter or a header: `/` and its name, and for an item of a list `/` and its
             *     number. At most 1,024 characters: where keys are longer, that of the nearest value around.
             */
            pointer: string;
            /** @description Says why it is wrong and what to send instead. */
            detail: string;
        };
        Forbidden: {
            /** @enum {number} */
            status: 403;
            code: "origin_not_allowed" | (string & {});
        } & Omit<components["schemas"]["ProblemDetails"], "status" | "code">;
        /** @description Any JSON object. Its keys are passed through unchanged; its nesting counts towards the limits of a body. */
        FreeForm: {
            [key: string]: unknown;
        };
        /** @description Whether tasks run, and what is wrong. */
        GatewayOverview: {
            /**
             * @description When the gateway read all this: up to a second ago, because one reading serves all who ask within a
             *     second. While the store does not respond it stays at the last reading that succeeded.
             */
            time: components["schemas"]["EpochSeconds"];
            /** @description The version of the gateway. */
            version: string;
            /** @description Whether the console is served, and whether it may change anything. */
            console: components["schemas"]["ConsoleMode"];
            /** @description Whether the store responds. */
            store: components["schemas"]["StoreCondition"];
            /** @description The open tasks. */
            tasks: components["schemas"]["OpenTaskCounts"];
            /** @description The slots of all agents. */
            slots: components["schemas"]["SlotCounts"];
            /** @description The agents. */
            agents: components["schemas"]["AgentCounts"];
            /**
             * @description Seconds that `ended`, `failures`, `median_seconds`, `series` and `no_agent` of a tag look back: 900. They
             *     begin with the first step of `series`.
             */
            window: components["schemas"]["Count"];
            /** @description The tasks that ended within `window`. */
            ended: components["schemas"]["OutcomeCounts"];
            /** @description Who failed within `window`: the failed tasks by type, agent and error. */
            failures: components["schemas"]["RecentFailures"];
            /**
             * @description The median of the seconds from submission to the end, to within 20 %, of the tasks that ended within
             *     `window` as `success` or `failed`; null if none did.
             */
            median_seconds: number | null;
            /** @description The last 15 minutes, step by step. */
            series: components["schemas"]["OverviewSeries"];
            /** @description How many tags there are, those beyond `tags` included. */
            tags_total: components["schemas"]["Count"];
            /**
             * @description The tags that need attention most come first: those that tasks ask for and that lack an agent, then those
             *     without a free slot, those that tasks wait for, and those whose agents are all draining or offline.
             */
            tags: components["schemas"]["TagDemand"][];
            /** @description The tasks that have waited longest. */
            oldest_waiting: components["schemas"]["WaitingTask"][];
            /** @description The problems now, the most urgent first. */
            problems: components["schemas"]["OverviewProblem"][];
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
             * @description Tasks the agent may stop working on. If the call has `request_ids`: those of them that are not assigned
             *     to the agent now (terminal, moved, or unknown here), each once, in the order of the call. Otherwise:
             *     the tasks assigned to it that became terminal without its report in the last 10 minutes, newest first.
             *     At most 1,000.
             */
            cancelled_request_ids: components["schemas"]["RequestIds"];
            /**
             * @description Present if a later registration has replaced the `registration` of this call.
             * @enum {boolean}
             */
            replaced?: true;
        };
        /**
         * @description One thing that happened to a task. Equal things in a row are one entry, and so are reports of progress in
         *     a row, with the last percentage; if something else happened between two entries of progress, only the
         *     last of them is kept.
         */
        HistoryEntry: {
            /** @description When it happened, for several in a row the first; never before `last_time` of the entry above. */
            time: components["schemas"]["EpochSeconds"];
            /** @description The kind of event. */
            event: components["schemas"]["HistoryEvent"];
            /**
             * @description The agent it is about; of a running task's `waiting`, the one that has it. Null if it is about no
             *     agent.
             */
            agent_id: components["schemas"]["Name"] | null;
            /**
             * @description More about it in a few words for people, or null; its wording may change. Of a push it has the status
             *     if the agent took it, else the error, and how long the last push took (`202, 14 ms`). It has nothing
             *     that an agent sent.
             */
            detail: string | null;
            /** @description How many in a row this entry stands for; 1 for most. */
            count: components["schemas"]["Count"];
            /** @description When the last of them happened; equals `time` if `count` is 1. */
            last_time: components["schemas"]["EpochSeconds"];
        };
        /**
         * @description An event of a task: `submitted`; `waiting` (for an agent with a free slot; of a running task, for another
         *     agent); `assigned`; `moved` (assigned to another agent); `claimed` (handed out to a claim); `push_taken`
         *     (the agent responded 2xx or 409), `push_not_taken` (it certainly does not have the task), `push_unknown`
         *     (it may have it); `acknowledged` (the agent named the task, or reported `running`); `progress` (it
         *     reported `running`); `offered_again` (the agent registered again and did not name the task); `asked` (the
         *     agent asked a question), `answered` (a client answered one); or the outcome that ended the task.
         */
        HistoryEvent: string | ("submitted" | "waiting" | "assigned" | "moved" | "claimed" | "push_taken" | "push_not_taken" | "push_unknown" | "acknowledged" | "progress" | "offered_again" | "asked" | "answered" | "success" | "failed" | "cancelled" | "timeout" | "no_agent" | "agent_lost");
        /**
         * Format: int32
         * @description The status of an HTTP response.
         */
        HttpStatus: number;
        InternalError: {
            /** @enum {number} */
            status: 500;
            code: "internal" | (string & {});
        } & Omit<components["schemas"]["ProblemDetails"], "status" | "code">;
        InvalidAgentCall: {
            /** @enum {number} */
            status: 400;
            code: ("malformed_body" | "agent_id_missing") | (string & {});
        } & Omit<components["schemas"]["ProblemDetails"], "status" | "code">;
        InvalidAnswer: {
            /** @enum {number} */
            status: 400;
            code: ("malformed_body" | "task_terminal" | "not_asked") | (string & {});
        } & Omit<components["schemas"]["ProblemDetails"], "status" | "code">;
        InvalidAnswerClaim: {
            /** @enum {number} */
            status: 400;
            code: ("malformed_body" | "agent_id_missing" | "agent_mismatch" | "task_terminal" | "not_asked") | (string & {});
        } & Omit<components["schemas"]["ProblemDetails"], "status" | "code">;
        InvalidReport: {
            /** @enum {number} */
            status: 400;
            code: ("malformed_body" | "agent_id_missing" | "agent_mismatch") | (string & {});
        } & Omit<components["schemas"]["ProblemDetails"], "status" | "code">;
        InvalidSubmission: {
            /** @enum {number} */
            status: 422;
            code: ("validation_failed" | "idempotency_conflict") | (string & {});
            errors: components["schemas"]["FieldError"][];
        } & Omit<components["schemas"]["ProblemDetails"], "status" | "code" | "errors">;
        MalformedBody: {
            /** @enum {number} */
            status: 400;
            code: "malformed_body" | (string & {});
        } & Omit<components["schemas"]["ProblemDetails"], "status" | "code">;
        /** @description An agent, and whether it qualifies. */
        MatchAgent: {
            /** @description The agent's id. */
            agent_id: components["schemas"]["Name"];
            /** @description The tags it shares with the task; the first 8. */
            shared_tags: components["schemas"]["Name"][];
            /** @description The agent's state. */
            state: components["schemas"]["AgentState"];
            /** @description Whether the administrator drains it. */
            drained_by_operator: boolean;
            /** @description Whether its load is at or above its maximum. */
            full: boolean;
            /** @description Whether it would get the task. */
            eligible: boolean;
            /** @description Why it would get the task or not. */
            reason: components["schemas"]["MatchReason"];
            /**
             * @description Whether it does not take its pushes: all have failed since the last one that it took or was too busy
             *     for. Then it ranks behind all others, like an agent that was too busy for its last push.
             */
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
            /** @description When the agent last called, took a push or was too busy for one. */
            last_contact_time: components["schemas"]["EpochSeconds"];
        };
        /**
         * @description How many agents share at least one of the tags, by what keeps them from the task. The counts are exact,
         *     unless more than 20,000 agents share another tag than the most common one: then there are at least this
         *     many.
         */
        MatchCounts: {
            /** @description Agents that share a tag. */
            agents: components["schemas"]["Count"];
            /** @description Of these: those that would get the task, those included that do not take their pushes. */
            eligible: components["schemas"]["Count"];
            /** @description Of these: agents at full load. */
            full: components["schemas"]["Count"];
            /** @description Of these: agents that are draining. */
            draining: components["schemas"]["Count"];
            /** @description Of these: agents that are offline. */
            offline: components["schemas"]["Count"];
        };
        /** @description A match without a task. */
        MatchPreview: {
            /** @description Which agents qualify now. */
            match: components["schemas"]["TaskMatch"];
            /**
             * @description The fault and its remedy, or who would get the task, in English; the wording may change. Null if there is
             *     nothing to say.
             */
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
         *     to this agent now, and waits for another one). Of several the first, in this order: `no_shared_tag`,
         *     `has_this_task`, `offline`, `draining`, `full`, `refused_this_task`.
         */
        MatchReason: string | ("eligible" | "no_shared_tag" | "full" | "draining" | "offline" | "refused_this_task" | "has_this_task");
        /** @description One of the tags that were asked for, with the agents that have it. */
        MatchTag: {
            /** @description The tag. */
            tag: components["schemas"]["Name"];
            /** @description How many registered agents have it. */
            agents: components["schemas"]["Count"];
            /** @description How many of these have a free slot and take their pushes. */
            free: components["schemas"]["Count"];
            /**
             * @description The nearest tag that agents have at the time of the call, if no agent has this one and another is like
             *     it; else null. The more tags were asked for, the fewer each is compared with.
             */
            similar: components["schemas"]["TagSupply"] | null;
        };
        Misdirected: {
            /** @enum {number} */
            status: 421;
            code: "misdirected" | (string & {});
        } & Omit<components["schemas"]["ProblemDetails"], "status" | "code">;
        /**
         * @description Pieces that no reader gets: `truncated` if the limit of a task's output was reached, `removed` if they
         *     were removed to make room for others.
         */
        MissingOutput: string | ("truncated" | "removed");
        /**
         * @description A name chosen by a client or an agent: 1 to 256 code points of well-formed Unicode (no lone surrogate).
         *     Names are compared exactly, character for character.
         */
        Name: string;
        /** @description A piece to write: `text`, `data` or `question`, and only one of them. */
        NewPiece: {
            /** @description Text that is passed on as it is; it may not be empty. */
            text?: string;
            /** @description Any JSON value, also null. */
            data?: unknown;
            /**
             * @description A question to the clients of the task; at most 16 in a task. `claimAnswer` returns its answer. While a
             *     question is open, nothing is stored when its writer asks it again.
             */
            question?: components["schemas"]["Question"];
        };
        /** @description How many tasks are open: `waiting` and `running` count each of them once. */
        OpenTaskCounts: {
            /** @description Tasks whose `waiting`, as in `TaskRow`, is true. */
            waiting: components["schemas"]["Count"];
            /** @description All other open tasks: an agent runs them, has just been assigned them, or is being matched. */
            running: components["schemas"]["Count"];
            /** @description Of these: tasks whose `waiting_for_answer`, as in `TaskRow`, is true. */
            waiting_for_answer: components["schemas"]["Count"];
        };
        /** @description How many tasks ended, by outcome. */
        OutcomeCounts: {
            /** @description Tasks that succeeded. */
            success: components["schemas"]["Count"];
            /** @description Tasks whose agent reported that they failed. */
            failed: components["schemas"]["Count"];
            /** @description Tasks that were cancelled. */
            cancelled: components["schemas"]["Count"];
            /** @description Tasks that were not finished within their `timeout`. */
            timeout: components["schemas"]["Count"];
            /** @description Tasks for which no agent qualified in time. */
            no_agent: components["schemas"]["Count"];
            /** @description Tasks whose agent had no contact for its `lost_after`. */
            agent_lost: components["schemas"]["Count"];
        };
        /**
         * @description How a task ended, as a filter: the outcomes that there are in this version.
         * @enum {string}
         */
        OutcomeFilter: "success" | "failed" | "cancelled" | "timeout" | "no_agent" | "agent_lost";
        /** @description The outcomes to look for; one that is repeated counts once. */
        OutcomeFilters: components["schemas"]["OutcomeFilter"][];
        /** @description The end of a task's output. No piece follows. */
        OutputEnd: {
            /**
             * Format: int32
             * @description One above the number of the last piece.
             */
            n: number;
            /**
             * @description Always true. No piece has this field.
             * @enum {boolean}
             */
            end: true;
            /**
             * @description The task's status.
             * @enum {string}
             */
            status: "success" | "failed";
            /** @description How the task ended. */
            outcome: components["schemas"]["TaskOutcome"];
            /** @description Pieces that are missing; null if there are none. */
            missing: components["schemas"]["MissingOutput"] | null;
        };
        /**
         * @description Server-sent events in UTF-8, as `EventFrames` has them. A frame has one `data:` line: an `OutputStatus`,
         *     without an `id:` line; or a `Piece` or, last, an `OutputEnd`, with its number as `id:`.
         */
        OutputFrames: string;
        /** @description A page of a task's output, and how the task stands. */
        OutputPage: {
            /** @description The task's id. */
            request_id: components["schemas"]["RequestId"];
            /** @description The task's status now. */
            status: components["schemas"]["TaskStatus"];
            /**
             * Format: int32
             * @description 0 to 100, as in the task.
             */
            progress: number;
            /** @description How the task ended; null while it is open. */
            outcome: components["schemas"]["TaskOutcome"] | null;
            /** @description The pieces behind `after`: at most 1,000, or as many as fit in 256 KiB. */
            pieces: components["schemas"]["Piece"][];
            /** @description The number of the last of them, or the one behind which none is stored: the next `after`. */
            last: components["schemas"]["Count"];
            /** @description Whether the task is over and nothing follows. */
            complete: boolean;
            /** @description Pieces that are missing; null if there are none. */
            missing: components["schemas"]["MissingOutput"] | null;
        };
        /** @description The pieces are stored, or `accepted` is false. */
        OutputReceipt: {
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
             * @description False if nothing was stored: stop writing. With `running` the limit of a task's output is reached and
             *     the task goes on; with another status the task is over.
             */
            accepted: boolean;
            /** @description How many pieces of this writer are stored: the next `from`. */
            next: components["schemas"]["Count"];
        };
        /** @description How an open task stands. It has no number, and is not repeated to a reader that returns. */
        OutputStatus: {
            /**
             * @description The task's status now.
             * @enum {string}
             */
            status: "pending" | "running";
            /**
             * Format: int32
             * @description 0 to 100.
             */
            progress: number;
        };
        /** @description Pieces that an agent adds to the output of its task. */
        OutputWrite: {
            /** @description The gateway secret. */
            auth: components["schemas"]["Secret"];
            /** @description The id of the agent that has the task. */
            agent_id: components["schemas"]["Name"];
            /** @description The task's id. */
            request_id: components["schemas"]["RequestId"];
            /**
             * @description Who writes: a text that the agent chooses when it begins work on the task, and another one after a
             *     restart. 1 to 64 code points.
             */
            writer: string;
            /**
             * Format: int32
             * @description How many pieces this writer has sent before.
             */
            from: number;
            /** @description The pieces, in their order. */
            pieces: components["schemas"]["NewPiece"][];
        };
        /** @description One thing that is wrong now. */
        OverviewProblem: {
            /** @description The kind of the problem, for programs. */
            code: components["schemas"]["OverviewProblemCode"];
            /** @description How urgent it is. */
            severity: components["schemas"]["ProblemSeverity"];
            /** @description Since when, as far as this gateway can say; else null. */
            since: components["schemas"]["EpochSeconds"] | null;
            /** @description The problem in English, for people; the wording may change. */
            text: string;
            /** @description The remedy in English, for people; null if there is none. */
            help: string | null;
            /** @description The tag it is about, or null. If the same tasks ask for several, the first; `text` names all. */
            tag: components["schemas"]["Name"] | null;
            /** @description The agent it is about, or null. */
            agent_id: components["schemas"]["Name"] | null;
            /** @description The kind of task it is about, or null. */
            task_type: components["schemas"]["Name"] | null;
            /** @description A task that shows it, or null. */
            request_id: components["schemas"]["RequestId"] | null;
            /**
             * @description How many. Of a tag: the tasks that wait, or, if none waits, those that ended without an agent. Of an
             *     agent: its failed pushes, the tasks that it has or lost, or those that failed. Of a kind of task: those
             *     that failed. Of answers: the tasks that wait for one. Of a limit: what there is of what it limits. Null
             *     if nothing is counted.
             */
            count: components["schemas"]["Count"] | null;
        };
        /**
         * @description The kind of a problem.
         *
         *     | Code | As a `problem` | As a `warning` | As a `note` |
         *     | --- | --- | --- | --- |
         *     | `store_down` | the store does not respond | – | – |
         *     | `push_failing` | an agent does not take its pushes, and is not offline | – | – |
         *     | `agent_silent` | an agent is offline and has tasks | it went offline within `window`, unannounced | – |
         *     | `agent_failing` | tasks of a type fail at an agent | the last over 5 minutes ago | – |
         *     | `type_failing` | they fail at each of two agents or more | the last over 5 minutes ago | – |
         *     | `tag_without_agent` | tasks wait or keep failing | its agents are draining or offline | none waits |
         *     | `tag_full` | – | tasks wait for it, its agents are full or take no pushes | – |
         *     | `waiting_for_answer` | – | – | tasks wait for an answer; `request_id` has waited longest |
         *     | `agent_drained` | – | – | the administrator drains an agent |
         *     | `near_limit` | a limit is reached | a limit is nearly reached | – |
         *     | `default_secret` | – | the gateway uses its public secret | – |
         *     | `metrics_public` | – | `/metrics` needs no secret | – |
         *
         *     `tag_without_agent`: no eligible agent has the tag. Tasks fail at an agent if its last five failed, or
         *     half of ten or more within `window`.
         */
        OverviewProblemCode: string | ("store_down" | "tag_without_agent" | "tag_full" | "push_failing" | "agent_silent" | "agent_failing" | "type_failing" | "default_secret" | "metrics_public" | "near_limit" | "waiting_for_answer" | "agent_drained");
        /** @description The last 15 minutes in 30 equal steps, oldest first. The last step is not over. */
        OverviewSeries: {
            /** @description Seconds of one step. */
            step: components["schemas"]["Count"];
            /** @description Tasks that waited for an agent at the end of the step, as `tasks.waiting` counts them. */
            waiting: components["schemas"]["Count"][];
            /** @description All other tasks that were open at the end of the step, as `tasks.running` counts them. */
            running: components["schemas"]["Count"][];
            /** @description Tasks that succeeded in the step. */
            success: components["schemas"]["Count"][];
            /** @description Tasks that ended in the step as `failed`, `timeout` or `agent_lost`. */
            failed: components["schemas"]["Count"][];
            /** @description Tasks that ended in the step because no agent qualified. */
            no_agent: components["schemas"]["Count"][];
        };
        PayloadTooLarge: {
            /** @enum {number} */
            status: 413;
            code: "payload_too_large" | (string & {});
        } & Omit<components["schemas"]["ProblemDetails"], "status" | "code">;
        /** @description One piece of a task's output. */
        Piece: {
            /**
             * Format: int32
             * @description Its number: 1, 2, 3 and so on over the task's whole life, without a hole and never used again.
             */
            n: number;
            /** @description Text, as the agent wrote it. */
            text?: string;
            /** @description A JSON value, as the agent wrote it. */
            data?: unknown;
            /** @description A question of the agent. */
            question?: components["schemas"]["Question"];
            /**
             * @description The answer to an earlier question. The gateway writes this piece when a client answers, and when the
             *     agent asks again what was answered.
             */
            answer?: components["schemas"]["QuestionAnswer"];
            /**
             * @description Another writer begins, and the pieces before this one are void. The gateway writes this piece itself.
             * @enum {boolean}
             */
            reset?: true;
            /** @description With `reset`: the agent whose writer begins. */
            agent_id?: components["schemas"]["Name"];
        };
        /** @description Every error response holds these fields, whatever its status and code. */
        ProblemDetails: {
            /** @description `urn:task-gateway:problem:` and the code. */
            type: string;
            /** @description The problem in a few words; the same for all problems of this code. */
            title: string;
            /**
             * Format: int32
             * @description The HTTP status of the response.
             */
            status: number;
            /** @description One sentence about this request: what is wrong and what to send instead. */
            detail: string;
            /** @description The code to branch on: stable within a major version. Expect codes that are not listed. */
            code: string;
            /** @description All errors in the request, one entry each. Every 422 has them. */
            errors?: components["schemas"]["FieldError"][];
        };
        /**
         * @description How urgent it is: `problem` (tasks do not run, or fail, now), `warning` (they may do so later) or `note`
         *     (they did so and nothing waits any more, they wait for a person's answer, or the administrator drains an
         *     agent). Later versions may add others.
         */
        ProblemSeverity: string | ("problem" | "warning" | "note");
        /** @description How a push ended: `taken`, `not_taken` or `unknown`. */
        PushOutcome: string | ("taken" | "not_taken" | "unknown");
        /** @description A question that an agent asks about its task. Every reader of the output sees it. */
        Question: {
            /**
             * @description Names the question within the task. If the agent asks again with this key and an equal prompt and
             *     schema, it is the same question, and keeps its answer; other content is refused.
             */
            key: components["schemas"]["QuestionKey"];
            /** @description The question, for people: 1 to 2,000 code points. */
            prompt: string;
            /** @description The form of the answer; without one any JSON value answers. */
            schema?: components["schemas"]["AnswerSchema"];
        };
        /** @description The answer to a question. */
        QuestionAnswer: {
            /** @description The question's key. */
            key: components["schemas"]["QuestionKey"];
            /**
             * @description The answer: what the question's `schema` allows; without one any JSON value. As JSON at most 8 KiB.
             *     Absent is the same as null.
             */
            answer?: unknown;
        };
        /** @description Names a question within its task: 1 to 256 code points of well-formed Unicode. */
        QuestionKey: string;
        /**
         * @description The tasks that failed within `window`, by cause. `listTasks` with `outcome=failed,timeout,agent_lost` and
         *     `ended_after` lists the same tasks. A task that was cancelled or found no agent is not among them.
         */
        RecentFailures: {
            /**
             * @description Null: these are all tasks that ended within `window`. Otherwise more than 500 did, and these are the last
             *     500, which ended at this time or later.
             */
            since: components["schemas"]["EpochSeconds"] | null;
            /** @description Of these tasks: those that failed (`failed`, `timeout`, `agent_lost`) or succeeded. */
            ended: components["schemas"]["Count"];
            /** @description Of these: those that failed. */
            failed: components["schemas"]["Count"];
            /** @description How many groups there are, those beyond `groups` included. */
            groups_total: components["schemas"]["Count"];
            /** @description The groups of the failed tasks: those of most tasks first. */
            groups: components["schemas"]["FailureGroup"][];
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
             * @description The interval between heartbeats that the gateway asks for, in seconds: at most a third of the agent's
             *     `lost_after`.
             */
            heartbeat_interval: number;
            /**
             * Format: double
             * @description Seconds without contact after which an agent that keeps this interval is `offline`.
             */
            offline_after: number;
            /** @description Tasks the agent may stop working on: they are terminal or no longer assigned to it. At most 1,000. */
            cancelled_request_ids: components["schemas"]["RequestIds"];
            /**
             * @description Present if the registration that this one replaces had a contact in the last 30 seconds.
             * @enum {boolean}
             */
            replaced?: true;
        };
        /**
         * @description Names one registration. Each call of register returns a new token: a process that sends an older one
         *     changes nothing of its successor's registration. Opaque: 1 to 256 code points of well-formed Unicode.
         */
        RegistrationToken: string;
        /** @description One thing that helps, for programs; `hint` says the same for people. */
        Remedy: {
            /** @description The kind of remedy. */
            kind: components["schemas"]["RemedyKind"];
            /** @description The tag it is about, or null. */
            tag: components["schemas"]["Name"] | null;
            /** @description The agent it is about, or null. */
            agent_id: components["schemas"]["Name"] | null;
            /** @description The time it is about, in seconds, or null. */
            seconds: number | null;
        };
        /**
         * @description A remedy: `use_tag` (submit with `tag`), `wait` (submit with `queue_timeout` of `seconds`),
         *     `raise_max_concurrent` (of `agent_id`), `start_agent` (with `tag`, or the agent `agent_id` again),
         *     `end_draining` (of `agent_id`; by the administrator, if they drain it), `check_agent` (look at the log
         *     and the endpoint of `agent_id`), `raise_timeout` (submit with a longer `timeout`), `submit_again` or
         *     `answer` (a question of the task).
         */
        RemedyKind: string | ("use_tag" | "wait" | "raise_max_concurrent" | "start_agent" | "end_draining" | "check_agent" | "raise_timeout" | "submit_again" | "answer");
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
        /** @description The id the gateway gives a task: a UUIDv7 today, opaque to clients; well-formed Unicode. */
        RequestId: string;
        /** @description A whole `request_id`, or its end: the last 8 characters or more. */
        RequestIdEnd: string;
        /** @description The tasks an agent has accepted, except those whose report the gateway has responded to. At most 1,000. */
        RequestIds: components["schemas"]["RequestId"][];
        RequestTimeout: {
            /** @enum {number} */
            status: 408;
            code: "request_timeout" | (string & {});
        } & Omit<components["schemas"]["ProblemDetails"], "status" | "code">;
        /**
         * Format: password
         * @description The gateway secret as a field of a JSON body. A call with a wrong secret returns 401, one without it 422.
         */
        Secret: string;
        ServiceUnavailable: {
            /** @enum {number} */
            status: 503;
            code: ("busy" | "store_unavailable") | (string & {});
        } & Omit<components["schemas"]["ProblemDetails"], "status" | "code">;
        /**
         * @description A client session: at most 256 code points of well-formed Unicode. Empty means no session: such a task has
         *     no stream.
         */
        SessionId: string;
        /**
         * @description The slots of agents: how many tasks they may run at once. `used + free - unusable` slots are usable;
         *     `used - not_taken` of these have a task.
         */
        SlotCounts: {
            /** @description Slots that tasks have. */
            used: components["schemas"]["Count"];
            /** @description Slots that could be given now. */
            free: components["schemas"]["Count"];
            /**
             * @description Of the used and the free ones: the slots of agents that do not take their pushes, except those whose
             *     task the agent took before.
             */
            unusable: components["schemas"]["Count"];
            /**
             * @description Of the unusable ones: those that tasks have. They are counted for the first 1,000 agents that do not take
             *     their pushes, as far as the gateway that responds has seen.
             */
            not_taken: components["schemas"]["Count"];
        };
        /** @description How many tasks there are, by status. */
        StatusCounts: {
            /** @description Tasks that were never assigned to an agent. */
            pending: components["schemas"]["Count"];
            /** @description Tasks that are assigned to an agent. */
            running: components["schemas"]["Count"];
            /** @description Tasks that succeeded. */
            success: components["schemas"]["Count"];
            /** @description Tasks that failed, were cancelled or timed out. */
            failed: components["schemas"]["Count"];
        };
        /** @description The statuses to look for; one that is repeated counts once. */
        StatusFilters: components["schemas"]["TaskStatus"][];
        /** @description Whether the store responds. */
        StoreCondition: {
            /** @description Where tasks are stored. */
            kind: components["schemas"]["StoreKind"];
            /** @description Whether calls can succeed now. */
            ok: boolean;
            /** @description Since when this gateway has found it so. */
            since: components["schemas"]["EpochSeconds"];
            /** @description Why calls fail, without any secret; null while they succeed. */
            error: string | null;
        };
        /** @description Where tasks are stored: `sqlite`, `redis` or `memory`. */
        StoreKind: string | ("sqlite" | "redis" | "memory");
        StoreUnavailable: {
            /** @enum {number} */
            status: 503;
            code: "store_unavailable" | (string & {});
        } & Omit<components["schemas"]["ProblemDetails"], "status" | "code">;
        /**
         * @description The tasks that ask for one tag, and the slots of the agents that have it. Of these slots
         *     `used + free - unusable` are usable, as in `slots`.
         */
        TagDemand: {
            /** @description The tag. */
            tag: components["schemas"]["Name"];
            /** @description Waiting tasks with this tag. */
            waiting: components["schemas"]["Count"];
            /** @description When the oldest of them was submitted; null if none waits. */
            oldest_create_time: components["schemas"]["EpochSeconds"] | null;
            /**
             * @description Tasks of the last 15 minutes with this tag that ended because no agent qualified, while no agent with
             *     this tag would have got one.
             */
            no_agent: components["schemas"]["Count"];
            /** @description Slots of these agents that tasks have, tasks of other tags included. */
            used: components["schemas"]["Count"];
            /** @description Slots of these agents that could be given now. */
            free: components["schemas"]["Count"];
            /** @description Of the used and the free ones: those that are unusable, as in `slots`. */
            unusable: components["schemas"]["Count"];
            /** @description Of the unusable ones: those that tasks have. */
            not_taken: components["schemas"]["Count"];
            /** @description Registered agents with this tag. */
            agents: components["schemas"]["Count"];
            /** @description Of these: agents that are `ready` or `processing`, full ones included. */
            eligible: components["schemas"]["Count"];
        };
        /** @description A tag that agents have, with how many have it. */
        TagSupply: {
            /** @description The tag. */
            tag: components["schemas"]["Name"];
            /** @description How many registered agents have it. */
            agents: components["schemas"]["Count"];
            /** @description How many of these have a free slot and take their pushes. */
            free: components["schemas"]["Count"];
        };
        /**
         * @description The tags of a task or an agent, at most 64. They are compared exactly, with case, and never trimmed. May be
         *     empty.
         */
        Tags: components["schemas"]["Name"][];
        /** @description How long the agent of a task has been silent, and what follows if it stays so. */
        TaskAgent: {
            /** @description The agent's id. */
            agent_id: components["schemas"]["Name"];
            /** @description Its last contact; null if its record is removed. */
            contact_time: components["schemas"]["EpochSeconds"] | null;
            /** @description Seconds since its last contact; of a lost agent when it was lost. Null if its record is removed. */
            silent_seconds: number | null;
            /**
             * @description From when on its silence is a sign of trouble: half way to `offline_time`. Null if it never is, for
             *     example of an agent that sends no heartbeats and takes its pushes, and of a lost agent.
             */
            silent_time: components["schemas"]["EpochSeconds"] | null;
            /** @description When it is `offline`, or since when it is. Null if its silence alone does not make it so. */
            offline_time: components["schemas"]["EpochSeconds"] | null;
            /** @description When the task fails with `agent_lost`, or did. Null without a `lost_after`. */
            lost_time: components["schemas"]["EpochSeconds"] | null;
        };
        /**
         * @description Names the tasks to cancel by exactly one of `filter` and `request_ids`; with both or neither, the error
         *     points to `/request_ids`.
         */
        TaskCancellation: {
            /** @description Cancels the open tasks that match. */
            filter?: components["schemas"]["CancelFilter"] | null;
            /** @description Cancels these tasks. */
            request_ids?: components["schemas"]["CancelledIds"] | null;
            /**
             * @description Tasks that were submitted at this time or later are left alone: what came after a person decided is not
             *     cancelled. Send the `time` of the count or of the page that the decision rests on.
             */
            created_before: components["schemas"]["EpochSeconds"];
            /**
             * @description Counts what would be cancelled, and cancels nothing.
             * @default false
             */
            dry_run?: boolean;
            /** @description Where to continue: the `next_cursor` of the previous call. Send all else as in that call. */
            cursor?: components["schemas"]["CancelCursor"] | null;
        };
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
        /** @description How many of the stored tasks match. */
        TaskCounts: {
            /** @description The tasks that match all filters. */
            total: components["schemas"]["Count"];
            /** @description Whether all tasks were looked at. Otherwise there are at least this many. */
            complete: boolean;
            /** @description The tasks that match all filters but `status`, `waiting`, `waiting_for_answer` and `outcome`, by status. */
            by_status: components["schemas"]["StatusCounts"];
            /**
             * @description How many of these wait for an agent: they are `pending`, or `running` at an agent that has not taken
             *     them. The other open tasks run: `by_status.pending + by_status.running - waiting`.
             */
            waiting: components["schemas"]["Count"];
            /** @description Of these: the running tasks that wait for an answer. */
            waiting_for_answer: components["schemas"]["Count"];
            /** @description The tasks that match the same filters, by outcome. */
            by_outcome: components["schemas"]["OutcomeCounts"];
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
        /** @description A task explained: its history, and why it has no agent. */
        TaskExplanation: {
            /** @description The task's id. */
            request_id: components["schemas"]["RequestId"];
            /** @description The task's status. */
            status: components["schemas"]["TaskStatus"];
            /** @description Whether it waits for an agent, as in `TaskRow`. */
            waiting: boolean;
            /** @description Of a running task: whether its agent has certainly taken it. Otherwise false. */
            acknowledged: boolean;
            /** @description How the task ended; null while it is pending or running. */
            outcome: components["schemas"]["TaskOutcome"] | null;
            /**
             * @description Seconds from submission that the task may wait for an agent: what was sent, or its `timeout` if that is
             *     less. Null if it may not wait.
             */
            queue_timeout: number | null;
            /** @description When the task was assigned to its last agent; null before. */
            assigned_time: components["schemas"]["EpochSeconds"] | null;
            /** @description When the task ended; null while it is pending or running. */
            ended_time: components["schemas"]["EpochSeconds"] | null;
            /** @description When the task fails with `timeout`, or would have failed. */
            deadline_time: components["schemas"]["EpochSeconds"];
            /**
             * @description The task's events, oldest first: `submitted` first and, of a task that ended, its outcome last.
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
            /** @description The agent of a running task, or the one that was lost with the task. Otherwise null. */
            agent: components["schemas"]["TaskAgent"] | null;
            /** @description The questions that its agents have asked, oldest first, without those that were withdrawn. */
            questions: components["schemas"]["AskedQuestion"][];
            /**
             * @description The fault and its remedy, or who would get the task, in English; the wording may change. Null if there is
             *     nothing to say.
             */
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
            /** @description The time that the match describes. */
            time: components["schemas"]["EpochSeconds"];
            /** @description Whether that is now; otherwise it is when the decision fell that ended the task. */
            live: boolean;
            /** @description How many agents are registered. */
            agents_total: components["schemas"]["Count"];
            /** @description How many of them share a tag, and what keeps them from the task. */
            sharing: components["schemas"]["MatchCounts"];
            /** @description The tags that were asked for, each once. */
            tags: components["schemas"]["MatchTag"][];
            /**
             * @description The nearest agents: those that share most tags first, those that qualify before others; then, of a match
             *     that is `live`, up to 5 that share no tag and have a `similar` one. `agents_total` counts the others too.
             */
            agents: components["schemas"]["MatchAgent"][];
        };
        TaskNotFound: {
            /** @enum {number} */
            status: 404;
            code: "task_not_found" | (string & {});
        } & Omit<components["schemas"]["ProblemDetails"], "status" | "code">;
        TaskOrAgentNotFound: {
            /** @enum {number} */
            status: 404;
            code: ("task_not_found" | "agent_not_found") | (string & {});
        } & Omit<components["schemas"]["ProblemDetails"], "status" | "code">;
        /**
         * @description How a task ended: `success`; `failed` (its agent reported it), `cancelled`, `timeout`, `no_agent` (no
         *     agent qualified in time) or `agent_lost` (its agent had no contact for its `lost_after`).
         */
        TaskOutcome: string | ("success" | "failed" | "cancelled" | "timeout" | "no_agent" | "agent_lost");
        /** @description A page of tasks as rows. */
        TaskPage: {
            /** @description The time that the page describes. To cancel just these tasks, send it as `created_before`. */
            time: components["schemas"]["EpochSeconds"];
            /**
             * @description Newest first by `create_time`, then `request_id`; with `ended_after` by `ended_time`; with
             *     `waiting_for_answer=true` by when the oldest open question was asked, the earliest first. May be short or
             *     empty even if more tasks follow.
             */
            tasks: components["schemas"]["TaskRow"][];
            /** @description The `cursor` of the next page; null if there is none. */
            next_cursor: string | null;
            /** @description How many tasks match, on all pages, if the call has `counts=true` and no `cursor`; else null. */
            counts: components["schemas"]["TaskCounts"] | null;
        };
        /** @description The progress or the result of a task. */
        TaskReport: {
            /** @description The gateway secret. Optional, unless the gateway requires it of agents; a wrong one is refused. */
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
        /** @description A task in one row: what distinguishes it from others, without its whole payload and result. */
        TaskRow: {
            /** @description The task's id. */
            request_id: components["schemas"]["RequestId"];
            /** @description The kind of task. */
            task_type: components["schemas"]["Name"];
            /** @description The tags of the task. */
            task_tags: components["schemas"]["Tags"];
            /** @description The session whose stream gets the task's event; empty for none. */
            cli_session_id: components["schemas"]["SessionId"];
            /** @description The task's status. */
            status: components["schemas"]["TaskStatus"];
            /**
             * @description Whether it waits for an agent, and is offered to the next one that gets a free slot: a `pending` task
             *     with a `queue_timeout` waits once no agent was free, and a `running` one that may move waits while no
             *     other agent is eligible.
             */
            waiting: boolean;
            /** @description Whether it runs and a question of its agent is open: not answered, and not withdrawn. */
            waiting_for_answer: boolean;
            /** @description How the task ended; null while it is pending or running. */
            outcome: components["schemas"]["TaskOutcome"] | null;
            /** @description The agent the task is assigned to, or was last; null if it never was. */
            agent_id: components["schemas"]["Name"] | null;
            /**
             * Format: int32
             * @description 0 to 100.
             */
            progress: number;
            /** @description Of a running task: whether its agent has certainly taken it. Otherwise false. */
            acknowledged: boolean;
            /** @description When the task was submitted. */
            create_time: components["schemas"]["EpochSeconds"];
            /** @description When the task was assigned to its last agent; null before. */
            assigned_time: components["schemas"]["EpochSeconds"] | null;
            /** @description When the task ended; null while it is pending or running. */
            ended_time: components["schemas"]["EpochSeconds"] | null;
            /** @description When the task fails with `timeout`, or would have failed. */
            deadline_time: components["schemas"]["EpochSeconds"];
            /** @description When the task fails because it has no agent; null unless it is `pending` and waits for one. */
            gives_up_time: components["schemas"]["EpochSeconds"] | null;
            /** @description Why the task failed, cut after 240 characters; otherwise null. */
            error_info: string | null;
            /** @description The first 240 characters (UTF-16 code units) of the payload's JSON. */
            payload_preview: string;
            /** @description Bytes of the payload's JSON. */
            payload_bytes: components["schemas"]["Count"];
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
             *     it the task has no stream.
             * @default
             */
            cli_session_id?: components["schemas"]["SessionId"];
            /**
             * Format: double
             * @description Seconds from submission until the task fails with `timeout`, waiting and running together; decimals are
             *     allowed. The gateway returns it as sent, and enforces at most 604,800 (7 days).
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
        TaskTerminal: {
            /** @enum {number} */
            status: 400;
            code: "task_terminal" | (string & {});
        } & Omit<components["schemas"]["ProblemDetails"], "status" | "code">;
        TooManyRequests: {
            /** @enum {number} */
            status: 429;
            code: "too_many_streams" | (string & {});
        } & Omit<components["schemas"]["ProblemDetails"], "status" | "code">;
        Unauthorized: {
            /** @enum {number} */
            status: 401;
            code: "unauthorized" | (string & {});
        } & Omit<components["schemas"]["ProblemDetails"], "status" | "code">;
        UnsupportedMediaType: {
            /** @enum {number} */
            status: 415;
            code: "unsupported_media_type" | (string & {});
        } & Omit<components["schemas"]["ProblemDetails"], "status" | "code">;
        ValidationFailed: {
            /** @enum {number} */
            status: 422;
            code: "validation_failed" | (string & {});
            errors: components["schemas"]["FieldError"][];
        } & Omit<components["schemas"]["ProblemDetails"], "status" | "code" | "errors">;
        /** @description A task that waits for an agent. */
        WaitingTask: {
            /** @description The task's id. */
            request_id: components["schemas"]["RequestId"];
            /** @description The kind of task. */
            task_type: components["schemas"]["Name"];
            /** @description The tags of the task. */
            task_tags: components["schemas"]["Tags"];
            /** @description When it was submitted. */
            create_time: components["schemas"]["EpochSeconds"];
            /** @description When it fails if no agent gets it before. */
            gives_up_time: components["schemas"]["EpochSeconds"];
        };
    };
    responses: {
        /** @description The agent is not registered. It registers, then sends the call again. */
        AgentNotFound: {
            headers: {
                "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["AgentNotFound"];
            };
        };
        /**
         * @description `origin_not_allowed`: the request comes from a web page of an origin that is not allowed; while the
         *     gateway uses its default secret, which is public, only pages of its own machine and of configured origins
         *     are served. `read_only`: the gateway's operator has set `CONSOLE` to `read-only`, and nothing was changed.
         */
        ChangeForbidden: {
            headers: {
                "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ChangeForbidden"];
            };
        };
        /**
         * @description The request comes from a web page of an origin that is not allowed. While the gateway uses its default
         *     secret, which is public, and in a call that needs no secret and has none, only pages of its own machine and
         *     of configured origins are served.
         */
        Forbidden: {
            headers: {
                "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Forbidden"];
            };
        };
        /**
         * @description A fault in the gateway. The response does not state the cause; retry with care (`submitTask`: with the same
         *     `Idempotency-Key`).
         */
        InternalError: {
            headers: {
                "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["InternalError"];
            };
        };
        /**
         * @description `malformed_body`: the body is not JSON in UTF-8, or has a byte-order mark. `agent_id_missing`: send the
         *     id of the agent that calls.
         */
        InvalidAgentCall: {
            headers: {
                "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["InvalidAgentCall"];
            };
        };
        /**
         * @description `malformed_body`: the body is not JSON in UTF-8, or has a byte-order mark. `task_terminal`: the task has
         *     ended, and no agent waits for the answer. `not_asked`: the question was never asked, was withdrawn, or
         *     has another answer; `detail` says which.
         */
        InvalidAnswer: {
            headers: {
                "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["InvalidAnswer"];
            };
        };
        /**
         * @description `malformed_body`: the body is not JSON in UTF-8, or has a byte-order mark. `agent_id_missing`: send the
         *     id of the agent that calls. `agent_mismatch`: the task is not assigned to this agent now; drop it.
         *     `task_terminal`: the task has ended; drop it. `not_asked`: the question was never asked, or was
         *     withdrawn; ask it.
         */
        InvalidAnswerClaim: {
            headers: {
                "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["InvalidAnswerClaim"];
            };
        };
        /**
         * @description `malformed_body`: the body is not JSON in UTF-8, or has a byte-order mark. `agent_id_missing`: send the
         *     id of the agent that calls. `agent_mismatch`: the task was never assigned to this agent (for `running`
         *     and for output: is not assigned to it now); drop what was sent.
         */
        InvalidReport: {
            headers: {
                "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["InvalidReport"];
            };
        };
        /**
         * @description `validation_failed`: fields are missing or have a wrong type or size; correct what `errors` names.
         *     `idempotency_conflict`: the `Idempotency-Key` was used before with different content; use a new key.
         *     Retrying the same request does not help.
         */
        InvalidSubmission: {
            headers: {
                "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["InvalidSubmission"];
            };
        };
        /** @description The body is not JSON in UTF-8, or has a byte-order mark. */
        MalformedBody: {
            headers: {
                "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["MalformedBody"];
            };
        };
        /**
         * @description The `Host` of the request is not a name of this gateway. While the gateway uses its default secret, which
         *     is public, and in a call that needs no secret and has none, it serves requests to `localhost`, to a
         *     loopback address and to the names of `ALLOWED_HOSTS` alone.
         */
        Misdirected: {
            headers: {
                "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Misdirected"];
            };
        };
        /** @description The body is larger than 1 MiB (`writeOutput`: 64 KiB). Keep large data elsewhere; send a reference. */
        PayloadTooLarge: {
            headers: {
                "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["PayloadTooLarge"];
            };
        };
        /** @description The body takes too long to arrive. Send it faster, or send less. */
        RequestTimeout: {
            headers: {
                "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["RequestTimeout"];
            };
        };
        /**
         * @description The request can't be processed now; retry after `Retry-After`. `busy`: the gateway has as much to do as it
         *     may, or bodies take all the memory there is for them, and nothing was changed. `store_unavailable`: the
         *     store has not confirmed the call in time; it is unknown whether a change was made, or a part of it.
         */
        ServiceUnavailable: {
            headers: {
                "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ServiceUnavailable"];
            };
        };
        /** @description The store has not responded in time. Retry after `Retry-After`. */
        StoreUnavailable: {
            headers: {
                "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["StoreUnavailable"];
            };
        };
        /** @description The task was never submitted here, or became terminal longer ago than tasks are kept (24 hours). */
        TaskNotFound: {
            headers: {
                "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["TaskNotFound"];
            };
        };
        /**
         * @description `task_not_found`: the task was never submitted here, or became terminal longer ago than tasks are kept
         *     (24 hours); drop what was sent. `agent_not_found`: the agent is not registered, and never had the task; it
         *     registers, then sends the call again.
         */
        TaskOrAgentNotFound: {
            headers: {
                "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["TaskOrAgentNotFound"];
            };
        };
        /** @description The task was already terminal, and is unchanged. Get it instead. */
        TaskTerminal: {
            headers: {
                "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["TaskTerminal"];
            };
        };
        /**
         * @description Too many streams are open, of this session or task (100) or in total (20,000). Close some, or retry after
         *     `Retry-After`.
         */
        TooManyRequests: {
            headers: {
                "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["TooManyRequests"];
            };
        };
        /** @description The secret is wrong, or missing where it is required. Retrying does not help: configure the right secret. */
        Unauthorized: {
            headers: {
                "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                /**
                 * @description `X-Admin-Auth` where the administrator's secret is meant, else `Bearer`.
                 * @example Bearer
                 */
                "WWW-Authenticate": string;
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Unauthorized"];
            };
        };
        /**
         * @description The body has a `Content-Encoding` other than `identity`, or it comes from a web page (the request has an
         *     `Origin` header) without `Content-Type: application/json`. Any other body is read as JSON, whatever its
         *     header says.
         */
        UnsupportedMediaType: {
            headers: {
                "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["UnsupportedMediaType"];
            };
        };
        /**
         * @description Fields are missing or have a wrong type or size. Correct what `errors` names; retrying the same request
         *     does not help.
         */
        ValidationFailed: {
            headers: {
                "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ValidationFailed"];
            };
        };
        /** @description Any other error: one that a proxy or the gateway finds before the operation begins (the guide lists them), or one of a later version. Treat it by the class of its status. */
        OtherProblem: {
            headers: {
                "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["ProblemDetails"];
            };
        };
    };
    parameters: {
        /** @description The `ETag` of an earlier response: if only `time` has changed since, the response is 304. */
        "If-None-Match": string;
        /** @description The agent's id. */
        agent_id: string;
        /** @description The task's id as returned by `submitTask`. */
        request_id: string;
    };
    requestBodies: never;
    headers: {
        /**
         * @description The version of the contract the gateway implements. Within a major version the contract only grows.
         * @example 1.0.0
         */
        "Task-Gateway-Version": string;
        /**
         * @description Whole seconds after which the same request may be sent again.
         * @example 2
         */
        "Retry-After": number;
        /**
         * @description Names the content without its `time`; send it as `If-None-Match`.
         * @example W/"m3VqXo0gPZ5vYd2kQ1rT8w"
         */
        ETag: string;
        /**
         * @description The agent's state now.
         * @example processing
         */
        "Agent-State": components["schemas"]["AgentState"];
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
                 * @description A text chosen by the client, a new one for each task: 1 to 255 printable ASCII characters. The
                 *     gateway keeps it for 24 hours from its first use, or for as long as it keeps tasks that ended, if
                 *     that is less. All accepted fields except `auth` are compared as JSON values: the order of keys, and
                 *     whether a default is given, make no difference. Different content is refused with 422.
                 */
                "Idempotency-Key"?: string;
                /**
                 * @description The trace that the task belongs to (W3C Trace Context). It is kept with the task, and comes with each
                 *     of its pushes and with the claim that returns it. A malformed one is ignored. A repeat under an
                 *     `Idempotency-Key` may have another one; the first counts.
                 */
                traceparent?: string;
                /**
                 * @description The tracing systems' own entries, which the gateway keeps beside `traceparent`: at most 512 characters,
                 *     of a longer header the first entries. It ignores the header if this or `traceparent` is malformed.
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
            400: components["responses"]["MalformedBody"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["InvalidSubmission"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
            default: components["responses"]["OtherProblem"];
        };
    };
    subscribeEvents: {
        parameters: {
            query: {
                /** @description The session, exactly as given in the submission of its tasks. An unused session has an idle stream. */
                cli_session_id: components["schemas"]["Name"];
                /**
                 * @description The `id` of the last event the client received: the stream continues after it. `EventSource` sends the
                 *     same as the header `Last-Event-ID` when it reconnects, and every client may: the header counts, unless
                 *     it is absent or empty.
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
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["StoreUnavailable"];
            default: components["responses"]["OtherProblem"];
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
                request_id: components["parameters"]["request_id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The task as it is now, and how it ended. */
            200: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    /**
                     * @description How the task ended; absent while it is open. If an agent reported the error `timeout`, this is `failed`.
                     * @example success
                     */
                    "Task-Outcome"?: components["schemas"]["TaskOutcome"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskInfo"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["TaskNotFound"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["ValidationFailed"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["StoreUnavailable"];
            default: components["responses"]["OtherProblem"];
        };
    };
    cancelTask: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The task's id as returned by `submitTask`. */
                request_id: components["parameters"]["request_id"];
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
            400: components["responses"]["TaskTerminal"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["TaskNotFound"];
            421: components["responses"]["Misdirected"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
            default: components["responses"]["OtherProblem"];
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
            400: components["responses"]["MalformedBody"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["ValidationFailed"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
            default: components["responses"]["OtherProblem"];
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
            400: components["responses"]["InvalidAgentCall"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["AgentNotFound"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["ValidationFailed"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
            default: components["responses"]["OtherProblem"];
        };
    };
    reportResult: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The trace that the report belongs to (W3C Trace Context): the one that came with the push or the
                 *     claim, or a span of the agent's below it. If the gateway is traced, it is the parent of the gateway's
                 *     own span; otherwise it has no effect. A malformed one is ignored.
                 */
                traceparent?: string;
                /** @description The tracing systems' own entries beside `traceparent`: at most 512 characters. */
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
            400: components["responses"]["InvalidReport"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["TaskOrAgentNotFound"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["ValidationFailed"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
            default: components["responses"]["OtherProblem"];
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
            400: components["responses"]["InvalidAgentCall"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["AgentNotFound"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["ValidationFailed"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
            default: components["responses"]["OtherProblem"];
        };
    };
    listAgents: {
        parameters: {
            query?: {
                /** @description Only agents in this state. */
                state?: "ready" | "processing" | "draining" | "offline";
                /** @description Only agents with this tag. */
                tag?: components["schemas"]["Name"];
                /** @description Only agents at full load that are neither draining nor offline; with `false`, only the others. */
                full?: boolean;
                /** @description Only agents that do not take their pushes; with `false`, only the others. */
                failing?: boolean;
                /** @description Only agents whose `agent_id` has this in it, in upper or lower case. */
                id?: components["schemas"]["Name"];
                /** @description Where to continue: the `next_cursor` of the previous page, with the same filters. Needs `limit`. */
                cursor?: string;
                /** @description The maximum number of agents. Without it there is no `ETag`, and `next_cursor` is null. */
                limit?: number;
            };
            header?: {
                /** @description The `ETag` of an earlier response: if only `time` has changed since, the response is 304. */
                "If-None-Match"?: components["parameters"]["If-None-Match"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All agents that match, or a page of them. */
            200: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentPage"];
                };
            };
            /** @description Nothing but `time` has changed since the response whose `ETag` was sent. */
            304: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["ValidationFailed"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["StoreUnavailable"];
            default: components["responses"]["OtherProblem"];
        };
    };
    explainTask: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The task's id as returned by `submitTask`. */
                request_id: components["parameters"]["request_id"];
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
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["TaskNotFound"];
            421: components["responses"]["Misdirected"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["StoreUnavailable"];
            default: components["responses"]["OtherProblem"];
        };
    };
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
            400: components["responses"]["MalformedBody"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["ValidationFailed"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
            default: components["responses"]["OtherProblem"];
        };
    };
    readOutput: {
        parameters: {
            query?: {
                /** @description The number of the last piece that the reader has. */
                after?: number;
                /** @description Seconds to wait for a piece or the end of the task; over 60 counts as 60. A stream ignores it. */
                wait?: number;
            };
            header?: {
                /**
                 * @description The `id` of the last frame the reader received. A stream continues behind it, whatever `after` says,
                 *     unless it is empty; a page ignores it.
                 */
                "Last-Event-ID"?: string;
            };
            path: {
                /** @description The task's id as returned by `submitTask`. */
                request_id: components["parameters"]["request_id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page, or the stream. */
            200: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OutputPage"];
                    "text/event-stream": components["schemas"]["OutputFrames"];
                };
            };
            /** @description The reader has had the end already; nothing follows. */
            204: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["TaskNotFound"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["ValidationFailed"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["StoreUnavailable"];
            default: components["responses"]["OtherProblem"];
        };
    };
    answerTask: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The task's id as returned by `submitTask`. */
                request_id: components["parameters"]["request_id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["QuestionAnswer"];
            };
        };
        responses: {
            /** @description The answer is stored. */
            200: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnswerReceipt"];
                };
            };
            400: components["responses"]["InvalidAnswer"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["TaskNotFound"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["ValidationFailed"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
            default: components["responses"]["OtherProblem"];
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
                    "Agent-State": components["headers"]["Agent-State"];
                    /** @description The trace of the task (W3C Trace Context), as it was submitted; absent if it was submitted without one. */
                    traceparent?: string;
                    /** @description The tracing systems' own entries beside `traceparent`, as they were submitted. */
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
                    "Agent-State": components["headers"]["Agent-State"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["InvalidAgentCall"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["AgentNotFound"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["ValidationFailed"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
            default: components["responses"]["OtherProblem"];
        };
    };
    writeOutput: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["OutputWrite"];
            };
        };
        responses: {
            /** @description The gateway has received the pieces. */
            200: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OutputReceipt"];
                };
            };
            400: components["responses"]["InvalidReport"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["TaskOrAgentNotFound"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["ValidationFailed"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
            default: components["responses"]["OtherProblem"];
        };
    };
    claimAnswer: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AnswerClaim"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QuestionAnswer"];
                };
            };
            /** @description The wait is over and there is no answer. */
            204: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["InvalidAnswerClaim"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["TaskOrAgentNotFound"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["ValidationFailed"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
            default: components["responses"]["OtherProblem"];
        };
    };
    getOverview: {
        parameters: {
            query?: {
                /** @description The maximum number of tags. */
                tags?: number;
            };
            header?: {
                /** @description The `ETag` of an earlier response: if only `time` has changed since, the response is 304. */
                "If-None-Match"?: components["parameters"]["If-None-Match"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The overview. */
            200: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GatewayOverview"];
                };
            };
            /** @description Nothing but `time` has changed since the response whose `ETag` was sent. */
            304: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["ValidationFailed"];
            500: components["responses"]["InternalError"];
            default: components["responses"]["OtherProblem"];
        };
    };
    listTasks: {
        parameters: {
            query?: {
                /** @description Only tasks with one of these statuses, separated by commas. */
                status?: components["schemas"]["StatusFilters"];
                /** @description Only tasks that ended in one of these ways, separated by commas. */
                outcome?: components["schemas"]["OutcomeFilters"];
                /** @description `true`: only tasks that wait for an agent; `false`: only those that do not, ended ones included. */
                waiting?: boolean;
                /**
                 * @description `true`: only tasks that wait for an answer, the one that has waited longest first; `false`: only those
                 *     that do not, ended ones included.
                 */
                waiting_for_answer?: boolean;
                /** @description Only tasks of this `task_type`. */
                type?: components["schemas"]["Name"];
                /** @description Only tasks with this tag. */
                tag?: components["schemas"]["Name"];
                /** @description Only tasks of this `cli_session_id`. */
                session?: components["schemas"]["Name"];
                /** @description Only tasks whose `agent_id` is this one. */
                agent?: components["schemas"]["Name"];
                /** @description Only tasks whose `request_id` is this one or ends in it. */
                id?: components["schemas"]["RequestIdEnd"];
                /** @description Only tasks that were submitted at this time or later. */
                created_after?: components["schemas"]["EpochSeconds"];
                /** @description Only tasks that were submitted before this time. */
                created_before?: components["schemas"]["EpochSeconds"];
                /** @description Of the last 500 tasks that ended: only those that ended at this time or later, the last one first. */
                ended_after?: components["schemas"]["EpochSeconds"];
                /** @description Only tasks that failed with this error: one whose beginning differs in numbers and ids at most. */
                error?: components["schemas"]["ErrorFilter"];
                /** @description Whether the first page has `counts`. */
                counts?: boolean;
                /** @description Where to continue: the `next_cursor` of the previous page, with the same filters. */
                cursor?: string;
                /** @description The maximum number of rows. */
                limit?: number;
            };
            header?: {
                /** @description The `ETag` of an earlier response: if only `time` has changed since, the response is 304. */
                "If-None-Match"?: components["parameters"]["If-None-Match"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of tasks. */
            200: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskPage"];
                };
            };
            /** @description Nothing but `time` has changed since the response whose `ETag` was sent. */
            304: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["ValidationFailed"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["StoreUnavailable"];
            default: components["responses"]["OtherProblem"];
        };
    };
    cancelTasks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TaskCancellation"];
            };
        };
        responses: {
            /** @description What this call did. */
            200: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CancellationReceipt"];
                };
            };
            400: components["responses"]["MalformedBody"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ChangeForbidden"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["ValidationFailed"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
            default: components["responses"]["OtherProblem"];
        };
    };
    getAgent: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` of an earlier response: if only `time` has changed since, the response is 304. */
                "If-None-Match"?: components["parameters"]["If-None-Match"];
            };
            path: {
                /** @description The agent's id. */
                agent_id: components["parameters"]["agent_id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The agent as it is now. */
            200: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentDetail"];
                };
            };
            /** @description Nothing but `time` has changed since the response whose `ETag` was sent. */
            304: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["AgentNotFound"];
            421: components["responses"]["Misdirected"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["StoreUnavailable"];
            default: components["responses"]["OtherProblem"];
        };
    };
    drainAgent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The agent's id. */
                agent_id: components["parameters"]["agent_id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AgentDrain"];
            };
        };
        responses: {
            /** @description The agent as it is now. */
            200: {
                headers: {
                    "Task-Gateway-Version": components["headers"]["Task-Gateway-Version"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentDetail"];
                };
            };
            400: components["responses"]["MalformedBody"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ChangeForbidden"];
            404: components["responses"]["AgentNotFound"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["Misdirected"];
            422: components["responses"]["ValidationFailed"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ServiceUnavailable"];
            default: components["responses"]["OtherProblem"];
        };
    };
}
