/**
 * The gateway a user would assemble from existing parts: Fastify in front, BullMQ behind. It handles the
 * same four messages (submit, push, result, event), validates them by schema, keeps them in Redis and
 * retries by the queue. It is one process, so that a result finds the job that waits for it. It has what
 * such a gateway has when it is well built, and no more: no deadline over pending and running, no cancel, no
 * replay by cursor, no claim by pull agents.
 */
import { randomUUID } from 'node:crypto';
import { Queue, QueueEvents, Worker } from 'bullmq';
import Fastify from 'fastify';
import { Agent, request } from 'undici';

const SECRET = process.env.GATEWAY_AUTH ?? '';
const connection = { url: process.env.STORE ?? 'redis://127.0.0.1:6379' };
const CONCURRENCY = 256;
const KEEP = { removeOnComplete: { age: 86_400 }, removeOnFail: { age: 86_400 } };

const queue = new Queue('tasks', { connection });
const finished = new QueueEvents('tasks', { connection });
const wire = new Agent({ connections: 256, pipelining: 1, bodyTimeout: 30_000 });
/** What the running jobs wait for, by job. */
const results = new Map();
const agents = new Map();
const streams = new Map();

/** The agent with the fewest running that shares a tag and has room. */
function matchAgent(tags) {
  let best = null;
  for (const agent of agents.values()) {
    if (agent.running >= agent.max_concurrent) continue;
    if (!agent.agent_tags.some((tag) => tags.includes(tag))) continue;
    if (best === null || agent.running < best.running) best = agent;
  }
  return best;
}

/** A job is the push and the wait for its result; what it returns is kept by the queue. */
async function runTask(job) {
  const agent = matchAgent(job.data.task_tags);
  if (!agent) throw new Error('no agent');
  agent.running += 1;
  try {
    const result = new Promise((resolve) => results.set(job.id, resolve));
    const task = { ...job.data, request_id: job.id, status: 'running', agent_id: agent.agent_id };
    const answer = await request(agent.endpoint, {
      dispatcher: wire,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(task),
    });
    await answer.body.dump();
    if (answer.statusCode >= 300) throw new Error(`the agent answered ${answer.statusCode}`);
    // The session goes along, so that the event needs no second read.
    return { ...(await result), cli_session_id: task.cli_session_id };
  } finally {
    agent.running -= 1;
    results.delete(job.id);
  }
}
const worker = new Worker('tasks', runTask, { connection, concurrency: CONCURRENCY });

finished.on('completed', ({ jobId, returnvalue }) => {
  const { cli_session_id, status, result, error_info } = returnvalue;
  const open = streams.get(cli_session_id);
  if (!open) return;
  const event = { event: 'task_done', request_id: jobId, status, result, error_info };
  for (const stream of open) stream.write(`data: ${JSON.stringify(event)}\n\n`);
});

const text = { type: 'string', minLength: 1, maxLength: 256 };
const app = Fastify({ logger: { level: 'warn' }, bodyLimit: 1024 * 1024 });

function isRight(secret) {
  return secret === SECRET;
}

app.post(
  '/api/cli/tasks',
  {
    schema: {
      body: {
        type: 'object',
        required: ['auth', 'task_type', 'task_tags', 'payload'],
        properties: {
          auth: { type: 'string' },
          task_type: text,
          task_tags: { type: 'array', maxItems: 64, items: text },
          payload: { type: 'object' },
          cli_session_id: { type: 'string', maxLength: 256 },
          timeout: { type: 'number', exclusiveMinimum: 0 },
        },
      },
    },
  },
  async ({ body }, reply) => {
    const { auth, ...task } = body;
    if (!isRight(auth)) return reply.code(401).send({ detail: 'wrong secret' });
    const create_time = Date.now() / 1_000;
    const options = {
      ...KEEP,
      jobId: randomUUID(),
      attempts: 5,
      backoff: { type: 'exponential', delay: 1_000 },
    };
    const job = await queue.add(task.task_type, { ...task, create_time }, options);
    const fresh = { status: 'pending', agent_id: null, progress: 0, result: null, error_info: null };
    return { request_id: job.id, ...task, create_time, ...fresh };
  },
);

app.get('/api/cli/tasks/:request_id', async ({ params, query }, reply) => {
  if (!isRight(query.auth)) return reply.code(401).send({ detail: 'wrong secret' });
  const job = await queue.getJob(params.request_id);
  if (!job) return reply.code(404).send({ detail: 'no such task' });
  return { request_id: job.id, ...job.data, ...job.returnvalue };
});

app.post(
  '/api/agent/result',
  {
    schema: {
      body: {
        type: 'object',
        required: ['request_id', 'agent_id', 'status'],
        properties: {
          request_id: text,
          agent_id: text,
          status: { enum: ['success', 'failed'] },
          progress: { type: 'integer', minimum: 0, maximum: 100 },
          result: { type: 'object', nullable: true },
          error_info: { type: 'string', nullable: true },
        },
      },
    },
  },
  async ({ body }, reply) => {
    const settle = results.get(body.request_id);
    if (!settle) return reply.code(404).send({ detail: 'no such task' });
    const { status, result = null, error_info = null, agent_id, progress = 100 } = body;
    settle({ status, result, error_info, agent_id, progress });
    return { ok: true, request_id: body.request_id, status, accepted: true };
  },
);

app.post('/api/agent/register', async ({ body }, reply) => {
  if (!isRight(body.auth)) return reply.code(401).send({ detail: 'wrong secret' });
  agents.set(body.agent_id, { ...body, running: 0 });
  return { ok: true, agent_id: body.agent_id };
});

app.get('/api/cli/events', ({ query, raw }, reply) => {
  if (!isRight(query.auth)) {
    reply.code(401).send({ detail: 'wrong secret' });
    return;
  }
  reply.hijack();
  reply.raw.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  reply.raw.write(': open\n\n');
  const open = streams.get(query.cli_session_id) ?? new Set();
  streams.set(query.cli_session_id, open.add(reply.raw));
  raw.on('close', () => open.delete(reply.raw));
});

await Promise.all([queue.waitUntilReady(), worker.waitUntilReady(), finished.waitUntilReady()]);
await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT ?? 0) });
console.log(JSON.stringify({ url: `http://127.0.0.1:${app.server.address().port}` }));
process.on('SIGTERM', () => process.exit(0));
