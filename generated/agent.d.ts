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
         * @description Brings a task to the agent. Any 2xx takes it, 409 says "I have it already"; the body of the answer is not read.
         *     Answer at once and report later, or answer when the work is done, within 300 seconds.
         *
         *     Delivery is at least once: the same `webhook-id` may come again, so keep the ids of tasks at hand. 429 and 503
         *     mean busy, 410 gone; 3xx and other 4xx (408 aside) mean not taken: tried again after 1, 2, 4 … 30 seconds, then
         *     moved. After everything else (408, 5xx, no answer) the gateway assumes that the agent may have the task and
         *     repeats the push here. A push that fails never fails the task; only its deadline does.
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
         * @description A moment: Unix epoch seconds, decimal, with the precision of a millisecond.
         */
        EpochSeconds: number;
        /** @description Any JSON object. Its keys pass through untouched; nesting counts towards the limits of a body. */
        FreeForm: {
            [key: string]: unknown;
        };
        /**
         * @description A name given by a client or an agent: 1 to 256 code points of well-formed Unicode (no lone surrogate), compared
         *     character for character.
         */
        Name: string;
        /** @description The gateway's id of a task: a UUIDv7 today, opaque to clients. */
        RequestId: string;
        /** @description A client session: up to 256 code points of well-formed Unicode. Empty means none: such a task has no stream. */
        SessionId: string;
        /** @description The tags of a task or an agent: at most 64, exact and case-sensitive, no trimming. May be empty. */
        Tags: components["schemas"]["Name"][];
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
                /** @description The task's `request_id`, also when the push is repeated or the task moved: the key to tell repeats by. */
                "webhook-id": string;
                /** @description When this push was sent: Unix epoch seconds. Refuse one that is more than five minutes off. */
                "webhook-timestamp": string;
                /**
                 * @description Only if the gateway is configured with a push secret: one or more `v1,` signatures separated by spaces, each the
                 *     base64 HMAC-SHA256 of `{webhook-id}.{webhook-timestamp}.{body}`. One that matches is enough.
                 */
                "webhook-signature"?: string;
                /** @description Seconds until the task ends as `timeout`, decimal. Stop working then. */
                "task-remaining": number;
                /** @description The trace this push belongs to (W3C Trace Context). */
                traceparent: string;
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
            /** @description Taken, and already done or about to be. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Taken; the result comes by report. What most agents answer, at once. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Taken; as 202. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The signature or its timestamp is wrong. Not taken: the gateway tries again, then moves the task. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The agent has this task already. Counts as taken. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The agent has left for good: not taken, and the agent is `offline` until it registers or beats. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Busy: not taken. The gateway asks another agent at once, and this one not again for 30 seconds. */
            429: {
                headers: {
                    /** @description Seconds the gateway should wait before it asks again. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Busy: not taken. The gateway asks another agent at once, and this one not again for 30 seconds. */
            503: {
                headers: {
                    /** @description Seconds the gateway should wait before it asks again. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
}
