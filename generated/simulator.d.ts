// Generated from the contract. Do not edit: change the TypeSpec sources and generate again.

export interface paths {
    "/__sim/agents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the scripted agents
         * @description Returns the scripted agents.
         */
        get: operations["listScripts"];
        put?: never;
        /**
         * Add a scripted agent
         * @description Registers an agent that does as the script says. It sends heartbeats and reports as any agent does, in
         *     the world's time.
         */
        post: operations["addScript"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/__sim/agents/{agent_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Remove a scripted agent
         * @description Unregisters an agent and ends its script.
         */
        delete: operations["removeScript"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/__sim/clock": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the time
         * @description Returns the time of the world. It stands still until it is moved.
         */
        get: operations["readClock"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/__sim/clock/advance": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Move the time by seconds
         * @description Moves the time, and has everything happen that falls due on the way. Returns the new time.
         */
        post: operations["advanceClock"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/__sim/clock/auto": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Move the time to what is due next
         * @description Moves the time to the next moment at which something is due: a deadline, a retry, a heartbeat, the end of
         *     a long poll. Returns the new time; if there is no such moment, the time stays. While a request, a push or
         *     a commit is open, the response is 409 `world_busy`: call again. A call that waits for news is not open in
         *     this sense.
         */
        post: operations["jumpClock"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/__sim/faults": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the faults
         * @description Returns the faults that still happen.
         */
        get: operations["listFaults"];
        put?: never;
        /**
         * Add a fault
         * @description Adds a fault. The faults of an operation happen in the order in which they were added.
         */
        post: operations["addFault"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/__sim/faults/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Remove a fault
         * @description Ends a fault.
         */
        delete: operations["removeFault"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/__sim/reset": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Begin again
         * @description Begins the world again: the same seed and time, without tasks, agents, faults and transcript.
         */
        post: operations["resetWorld"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/__sim/transcript": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the transcript
         * @description Returns everything that went over the wire of this world, without its secrets. The same seed and the same
         *     calls give the same bytes. Beyond 8 MiB the oldest lines are dropped, and the first line says how many.
         */
        get: operations["readTranscript"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/__sim/worlds": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the worlds
         * @description Returns the names by which worlds were created: at most 10,000.
         */
        get: operations["listWorlds"];
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
        /** @description An added fault. */
        AddedFault: {
            /** @description What goes wrong. */
            fault: components["schemas"]["FaultName"];
            /** @description The operation that it affects; absent: every one. An outage of the store has none. */
            operation?: components["schemas"]["OperationName"];
            /**
             * Format: int32
             * @description How often it happens; absent: until it is removed.
             */
            times?: number;
            /**
             * Format: double
             * @description Of a `delay`: how long the call waits, in seconds of the world's time.
             * @default 1
             */
            seconds?: number;
            /**
             * Format: int32
             * @description Of `busy` and `too_many_streams`: the `Retry-After`, in seconds.
             */
            retry_after?: number;
            /**
             * Format: int32
             * @description Of `cut_stream`: how many events still arrive. With 0, open streams are cut at once.
             * @default 0
             */
            after_events?: number;
            /**
             * Format: int32
             * @description Of `cut_stream`, in place of events: how many bytes of events still arrive.
             */
            after_bytes?: number;
            /** @description Names it, to remove it. */
            id: string;
            /**
             * Format: int32
             * @description How often it has happened.
             */
            happened: number;
        };
        /** @description The faults that still happen. */
        AddedFaults: {
            /** @description In the order in which they were added. */
            faults: components["schemas"]["AddedFault"][];
        };
        /** @description How far the time moves. */
        Advance: {
            /**
             * Format: double
             * @description At most 366 days.
             */
            seconds: number;
        };
        /** @description An agent, and what it does. */
        AgentScript: {
            /** @description The tags it registers with. */
            tags: string[];
            /**
             * @description Its id. Absent: `agent-1`, `agent-2` … If an agent with this id is there already, this is another
             *     process of it.
             */
            agent_id?: string;
            /**
             * Format: int32
             * @description How many tasks it has at a time.
             * @default 1
             */
            max_concurrent?: number;
            /**
             * Format: double
             * @description After this many seconds without contact its tasks are lost. Absent: it registers without `lost_after`.
             */
            lost_after?: number;
            /**
             * @description What it does with each of its tasks.
             * @default succeed
             */
            does?: components["schemas"]["Behaviour"];
            /**
             * Format: double
             * @description Seconds until it does it.
             * @default 0
             */
            after?: number;
            /** @description The result that it reports. Absent: `{"output":"done"}`. */
            result?: components["schemas"]["AnyObject"];
            /**
             * @description Why its tasks fail.
             * @default the script says so
             */
            error_info?: string;
            /** @description The percentages that it reports on its way, spread over `after`. */
            progress?: components["schemas"]["Percentage"][];
            /** @description The texts, and objects as data, that it writes to the output of its tasks, spread over `after`. */
            output?: (string | components["schemas"]["AnyObject"])[];
            /**
             * @description The questions that it asks after its output, one after the other. It reports its result once all are
             *     answered.
             */
            asks?: components["schemas"]["ScriptedQuestion"][];
            /**
             * @description How far a task is when its agent dies, in percent.
             * @default 50
             */
            at?: components["schemas"]["Percentage"];
            /**
             * Format: int32
             * @description The `Retry-After` of a refusal, in seconds. Absent: a refusal has none.
             */
            retry_after?: number;
        };
        /** @description Any JSON object. */
        AnyObject: {
            [key: string]: unknown;
        };
        /**
         * @description One thing that an agent does with each of its tasks.
         * @enum {string}
         */
        Behaviour: "succeed" | "fail" | "progress" | "never_answer" | "refuse" | "go_silent" | "report_twice" | "report_late" | "die";
        /** @description A fault to add. */
        Fault: {
            /** @description What goes wrong. */
            fault: components["schemas"]["FaultName"];
            /** @description The operation that it affects; absent: every one. An outage of the store has none. */
            operation?: components["schemas"]["OperationName"];
            /**
             * Format: int32
             * @description How often it happens; absent: until it is removed.
             */
            times?: number;
            /**
             * Format: double
             * @description Of a `delay`: how long the call waits, in seconds of the world's time.
             * @default 1
             */
            seconds?: number;
            /**
             * Format: int32
             * @description Of `busy` and `too_many_streams`: the `Retry-After`, in seconds.
             */
            retry_after?: number;
            /**
             * Format: int32
             * @description Of `cut_stream`: how many events still arrive. With 0, open streams are cut at once.
             * @default 0
             */
            after_events?: number;
            /**
             * Format: int32
             * @description Of `cut_stream`, in place of events: how many bytes of events still arrive.
             */
            after_bytes?: number;
        };
        /**
         * @description Something that goes wrong.
         * @enum {string}
         */
        FaultName: "unauthorized" | "too_many_streams" | "busy" | "no_response" | "delay" | "lose_response" | "cut_stream" | "repeat_event" | "store_outage";
        /** @description A mistake in a body. */
        FieldMistake: {
            /** @description JSON Pointer (RFC 6901) to the value. */
            pointer: string;
            /** @description Says what to send instead. */
            detail: string;
        };
        /**
         * @description The body is not as the document says.
         * @example {
         *       "type": "about:blank",
         *       "title": "Validation failed",
         *       "status": 422,
         *       "detail": "The body is not valid: `/seconds` must be a number from 0 to 31622400.",
         *       "code": "validation_failed",
         *       "errors": [
         *         {
         *           "pointer": "/seconds",
         *           "detail": "must be a number from 0 to 31622400"
         *         }
         *       ]
         *     }
         */
        InvalidBody: {
            /**
             * @description Always `about:blank`.
             * @enum {string}
             */
            type: "about:blank";
            /** @description The code in words. */
            title: string;
            /**
             * Format: int32
             * @description The status of the response.
             */
            status: number;
            /** @description Says what was wrong and what to send instead. */
            detail: string;
            /** @description Names the refusal. It is stable. */
            code: string;
            /** @description The mistakes in the body, one for each place. Every 422 has them. */
            errors?: components["schemas"]["FieldMistake"][];
        };
        /**
         * @description `world_busy`: something is under way that needs no time. `too_many_worlds`: there are as many worlds as
         *     there may be, over HTTP 100. Reset one, and use it again.
         * @example {
         *       "type": "about:blank",
         *       "title": "Too many worlds",
         *       "status": 409,
         *       "detail": "There are 100 worlds. Reset one, and use it again.",
         *       "code": "too_many_worlds"
         *     }
         * @example {
         *       "type": "about:blank",
         *       "title": "World busy",
         *       "status": 409,
         *       "detail": "1 requests or pushes are open. The time jumps when they have ended.",
         *       "code": "world_busy"
         *     }
         */
        NoJump: {
            /**
             * @description Always `about:blank`.
             * @enum {string}
             */
            type: "about:blank";
            /** @description The code in words. */
            title: string;
            /**
             * Format: int32
             * @description The status of the response.
             */
            status: number;
            /** @description Says what was wrong and what to send instead. */
            detail: string;
            /** @description Names the refusal. It is stable. */
            code: string;
            /** @description The mistakes in the body, one for each place. Every 422 has them. */
            errors?: components["schemas"]["FieldMistake"][];
        };
        /**
         * @description There is none of this id.
         * @example {
         *       "type": "about:blank",
         *       "title": "Not found",
         *       "status": 404,
         *       "detail": "There is none of this id. GET the list to see those that there are.",
         *       "code": "not_found"
         *     }
         */
        NothingFound: {
            /**
             * @description Always `about:blank`.
             * @enum {string}
             */
            type: "about:blank";
            /** @description The code in words. */
            title: string;
            /**
             * Format: int32
             * @description The status of the response.
             */
            status: number;
            /** @description Says what was wrong and what to send instead. */
            detail: string;
            /** @description Names the refusal. It is stable. */
            code: string;
            /** @description The mistakes in the body, one for each place. Every 422 has them. */
            errors?: components["schemas"]["FieldMistake"][];
        };
        /**
         * @description An operation of the gateway's document.
         * @enum {string}
         */
        OperationName: "submitTask" | "subscribeEvents" | "getTask" | "cancelTask" | "registerAgent" | "heartbeatAgent" | "reportResult" | "unregisterAgent" | "listAgents" | "explainTask" | "previewMatch" | "readOutput" | "answerTask" | "claimTask" | "writeOutput" | "claimAnswer" | "getOverview" | "listTasks" | "cancelTasks" | "getAgent" | "drainAgent";
        /**
         * Format: int32
         * @description How far a task is.
         */
        Percentage: number;
        /** @description A scripted agent as it is now. */
        ScriptedAgent: {
            /** @description Its id. */
            agent_id: string;
            /** @description What it does with each of its tasks. */
            does: components["schemas"]["Behaviour"];
            /** @description False once it has died or gone silent. */
            alive: boolean;
            /** @description The tasks that it works on. */
            request_ids: string[];
        };
        /** @description The scripted agents. */
        ScriptedAgents: {
            /** @description Those that were added and not removed. */
            agents: components["schemas"]["ScriptedAgent"][];
        };
        /** @description A question that an agent asks about each of its tasks. */
        ScriptedQuestion: {
            /**
             * @description Names it within the task. Absent: the simulator makes it from prompt, schema and how often the script
             *     asks the same, as the SDK's agent does.
             */
            key?: components["schemas"]["QuestionKey"];
            /** @description The question, for people: 1 to 2,000 code points. */
            prompt: string;
            /** @description The form of the answer; without one any JSON value answers. */
            schema?: components["schemas"]["AnswerSchema"];
            /** @description A person's answer, if no other comes before. Absent: the agent waits until the test answers. */
            answer?: unknown;
            /**
             * Format: double
             * @description Seconds from the question to that answer.
             * @default 0
             */
            after?: number;
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
        /** @description Names a question within its task: 1 to 256 code points of well-formed Unicode. */
        QuestionKey: string;
        /**
         * @description `too_many_worlds`: there are as many worlds as there may be, over HTTP 100. Reset one, and use it again.
         * @example {
         *       "type": "about:blank",
         *       "title": "Too many worlds",
         *       "status": 409,
         *       "detail": "There are 100 worlds. Reset one, and use it again.",
         *       "code": "too_many_worlds"
         *     }
         */
        TooManyWorlds: {
            /**
             * @description Always `about:blank`.
             * @enum {string}
             */
            type: "about:blank";
            /** @description The code in words. */
            title: string;
            /**
             * Format: int32
             * @description The status of the response.
             */
            status: number;
            /** @description Says what was wrong and what to send instead. */
            detail: string;
            /** @description Names the refusal. It is stable. */
            code: string;
            /** @description The mistakes in the body, one for each place. Every 422 has them. */
            errors?: components["schemas"]["FieldMistake"][];
        };
        /** @description Lines of JSON, each one request, response, piece of a stream, push or response of an agent. */
        TranscriptLines: string;
        /**
         * @description The body is not a JSON object.
         * @example {
         *       "type": "about:blank",
         *       "title": "Malformed body",
         *       "status": 400,
         *       "detail": "The body is not a JSON object.",
         *       "code": "malformed_body"
         *     }
         */
        UnreadableBody: {
            /**
             * @description Always `about:blank`.
             * @enum {string}
             */
            type: "about:blank";
            /** @description The code in words. */
            title: string;
            /**
             * Format: int32
             * @description The status of the response.
             */
            status: number;
            /** @description Says what was wrong and what to send instead. */
            detail: string;
            /** @description Names the refusal. It is stable. */
            code: string;
            /** @description The mistakes in the body, one for each place. Every 422 has them. */
            errors?: components["schemas"]["FieldMistake"][];
        };
        /** @description The worlds that have a name. */
        WorldNames: {
            /** @description Their names. */
            worlds: string[];
        };
        /**
         * @description A defect of the simulator. The world stays as it is, with its transcript.
         * @example {
         *       "type": "about:blank",
         *       "title": "The world threw",
         *       "status": 500,
         *       "detail": "Error: the body broke",
         *       "code": "world_threw"
         *     }
         */
        WorldThrew: {
            /**
             * @description Always `about:blank`.
             * @enum {string}
             */
            type: "about:blank";
            /** @description The code in words. */
            title: string;
            /**
             * Format: int32
             * @description The status of the response.
             */
            status: number;
            /** @description Says what was wrong and what to send instead. */
            detail: string;
            /** @description Names the refusal. It is stable. */
            code: string;
            /** @description The mistakes in the body, one for each place. Every 422 has them. */
            errors?: components["schemas"]["FieldMistake"][];
        };
        /** @description The time of a world. */
        WorldTime: {
            /**
             * Format: double
             * @description Seconds since the Unix epoch.
             */
            now: number;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listScripts: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The scripted agents. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScriptedAgents"];
                };
            };
            /** @description A response that refuses. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["TooManyWorlds"];
                };
            };
            /** @description A response that refuses. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["WorldThrew"];
                };
            };
        };
    };
    addScript: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AgentScript"];
            };
        };
        responses: {
            /** @description The agent as it is now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScriptedAgent"];
                };
            };
            /** @description A response that refuses. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["UnreadableBody"];
                };
            };
            /** @description A response that refuses. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["TooManyWorlds"];
                };
            };
            /** @description A response that refuses. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["InvalidBody"];
                };
            };
            /** @description A response that refuses. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["WorldThrew"];
                };
            };
        };
    };
    removeScript: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the agent. */
                agent_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A response that refuses. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["NothingFound"];
                };
            };
            /** @description A response that refuses. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["TooManyWorlds"];
                };
            };
            /** @description A response that refuses. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["WorldThrew"];
                };
            };
        };
    };
    readClock: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The time. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorldTime"];
                };
            };
            /** @description A response that refuses. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["TooManyWorlds"];
                };
            };
            /** @description A response that refuses. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["WorldThrew"];
                };
            };
        };
    };
    advanceClock: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Advance"];
            };
        };
        responses: {
            /** @description The new time. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorldTime"];
                };
            };
            /** @description A response that refuses. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["UnreadableBody"];
                };
            };
            /** @description A response that refuses. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["TooManyWorlds"];
                };
            };
            /** @description A response that refuses. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["InvalidBody"];
                };
            };
            /** @description A response that refuses. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["WorldThrew"];
                };
            };
        };
    };
    jumpClock: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The new time. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorldTime"];
                };
            };
            /** @description A response that refuses. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["NoJump"];
                };
            };
            /** @description A response that refuses. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["WorldThrew"];
                };
            };
        };
    };
    listFaults: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The faults. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AddedFaults"];
                };
            };
            /** @description A response that refuses. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["TooManyWorlds"];
                };
            };
            /** @description A response that refuses. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["WorldThrew"];
                };
            };
        };
    };
    addFault: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Fault"];
            };
        };
        responses: {
            /** @description The fault, with its id. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AddedFault"];
                };
            };
            /** @description A response that refuses. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["UnreadableBody"];
                };
            };
            /** @description A response that refuses. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["TooManyWorlds"];
                };
            };
            /** @description A response that refuses. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["InvalidBody"];
                };
            };
            /** @description A response that refuses. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["WorldThrew"];
                };
            };
        };
    };
    removeFault: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the fault. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A response that refuses. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["NothingFound"];
                };
            };
            /** @description A response that refuses. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["TooManyWorlds"];
                };
            };
            /** @description A response that refuses. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["WorldThrew"];
                };
            };
        };
    };
    resetWorld: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A response that refuses. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["TooManyWorlds"];
                };
            };
            /** @description A response that refuses. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["WorldThrew"];
                };
            };
        };
    };
    readTranscript: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The transcript. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": components["schemas"]["TranscriptLines"];
                };
            };
            /** @description A response that refuses. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["TooManyWorlds"];
                };
            };
            /** @description A response that refuses. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["WorldThrew"];
                };
            };
        };
    };
    listWorlds: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The names. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorldNames"];
                };
            };
            /** @description A response that refuses. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["TooManyWorlds"];
                };
            };
            /** @description A response that refuses. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["WorldThrew"];
                };
            };
        };
    };
}
