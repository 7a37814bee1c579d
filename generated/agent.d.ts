// Generated from the contract. Do not edit: change the TypeSpec sources and generate again.

export interface paths {
    "/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Receive a task
         * @description Delivers a task to the agent. Any 2xx takes the task; 409 says that the agent already has it. The
         *     response body is not read. Respond at once and report later, or respond when the work is done, within 300
         *     seconds.
         *
         *     Delivery is at least once: the same `webhook-id` may come again, so keep the ids of your tasks. The
         *     tables "Delivery" and "When a running task moves" of the gateway's own document, `/openapi.json`, say how
         *     the gateway takes each response, when it asks again, and when the task moves.
         */
        post: operations["pushTask"];
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
        /**
         * Format: double
         * @description A time in Unix epoch seconds: a decimal number with millisecond precision.
         */
        EpochSeconds: number;
        /** @description Any JSON object. Its keys are passed through unchanged; its nesting counts towards the limits of a body. */
        FreeForm: {
            [key: string]: unknown;
        };
        /**
         * @description A name chosen by a client or an agent: 1 to 256 code points of well-formed Unicode (no lone surrogate).
         *     Names are compared exactly, character for character.
         */
        Name: string;
        /** @description The id the gateway gives a task: a UUIDv7 today, opaque to clients; well-formed Unicode. */
        RequestId: string;
        /**
         * @description A client session: at most 256 code points of well-formed Unicode. Empty means no session: such a task has
         *     no stream.
         */
        SessionId: string;
        /**
         * @description The tags of a task or an agent, at most 64. They are compared exactly, with case, and never trimmed. May be
         *     empty.
         */
        Tags: components["schemas"]["Name"][];
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
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    pushTask: {
        parameters: {
            query?: never;
            header: {
                /** @description The task's `request_id`. A repeated push and a moved task keep it: recognise repeats by it. */
                "webhook-id": string;
                /** @description When this push was sent, in Unix epoch seconds. Refuse one that is more than five minutes off. */
                "webhook-timestamp": string;
                /**
                 * @description Sent only if the gateway is configured with a push secret: one or more `v1,` signatures separated by
                 *     spaces, each the base64 HMAC-SHA256 of `{webhook-id}.{webhook-timestamp}.{body}`. One matching
                 *     signature is enough.
                 */
                "webhook-signature"?: string;
                /** @description Seconds until the task fails with `timeout`, a decimal number. Stop working then. */
                "task-remaining": number;
                /**
                 * @description The trace this push belongs to (W3C Trace Context): the one that the task was submitted in, else one
                 *     that begins here. Where the gateway itself is traced, the span of the push. Send it with the report
                 *     too.
                 */
                traceparent: string;
                /** @description The tracing systems' own entries; sent only with the `traceparent` of the submission. */
                tracestate?: string;
            };
            path?: never;
            cookie?: never;
        };
        /** @description The whole task: `status` is `running`, `agent_id` is this agent. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["TaskInfo"];
            };
        };
        responses: {
            /** @description The agent has taken the task, and has finished it or soon will. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The agent has taken the task and will report its result. Most agents return this at once. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The agent has taken the task; the same as 202. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The signature or its timestamp is wrong; the task is not taken. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The agent already has this task. Counts as taken. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The agent is gone and has not taken the task. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The agent is busy and has not taken the task. */
            429: {
                headers: {
                    /** @description How long the gateway waits at least before it asks this agent again: seconds, or an HTTP date. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The agent is busy and has not taken the task. */
            503: {
                headers: {
                    /** @description How long the gateway waits at least before it asks this agent again: seconds, or an HTTP date. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Any other 4xx except 408: the task is not taken. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Any other 5xx, and 408: the agent may have the task. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
}
