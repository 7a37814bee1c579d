/**
 * A task's trace, from a client through the gateway to an agent and back: passed on unchanged without a
 * tracing library, and with the gateway's own five spans once one is registered.
 */
import { type AddressInfo, createServer } from 'node:net';
import { trace } from '@opentelemetry/api';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createAgent, type HandlerContext } from '../../sdk/agent/index.ts';
import { createClient } from '../../sdk/index.ts';
import { composeGateway } from '../../server/compose.ts';
import { readConfig } from '../../server/config/config.ts';
import { ADMIN_SECRET, SECRET } from '../harness/http-server.ts';
import { SILENT } from '../harness/silent-log.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = `00-${TRACE}-00f067aa0ba902b7-01`;
const STATE = 'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE';
const WAIT = { timeout: 60_000, interval: 10 };

afterEach(() => trace.disable());

/** Registers a library with OpenTelemetry, as a person does before the gateway starts. */
function registerLibrary(): InMemorySpanExporter {
  const exporter = new InMemorySpanExporter();
  const spanProcessors = [new SimpleSpanProcessor({ exporter })];
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors }));
  return exporter;
}

/** Starts a whole gateway in this process, and returns a client of it. */
async function start(env: Readonly<Record<string, string>> = {}) {
  const parsed = readConfig({
    PORT: '0',
    STORE: 'memory:',
    GATEWAY_AUTH: SECRET,
    ADMIN_AUTH: ADMIN_SECRET,
    ...env,
  });
  if (!parsed.ok) throw new Error(parsed.mistakes.join('\n'));
  const gateway = await composeGateway(parsed.config, SILENT);
  onTestFinished(() => gateway.stop());
  const options = { baseUrl: `http://127.0.0.1:${gateway.address.port}`, auth: SECRET };
  return { options, client: createClient(options) };
}

/** What reaches the handler of an agent, and the headers of its reports. */
async function startAgent(
  options: { readonly baseUrl: string; readonly auth: string },
  listen?: { readonly port: number },
) {
  const contexts: HandlerContext[] = [];
  const reported: Headers[] = [];
  const agent = createAgent({
    ...options,
    agentId: 'traced',
    tags: ['traced'],
    ...(listen && { listen }),
    fetch(request, init) {
      if (request.url.endsWith('/result')) reported.push(request.headers);
      return fetch(request, init);
    },
    handler(_task, context) {
      contexts.push(context);
      return 'done';
    },
  });
  await agent.start();
  onTestFinished(() => agent.stop({ drainMs: 0, graceMs: 0 }));
  return { contexts, reported };
}

const submission = { task_type: 't', task_tags: ['traced'], payload: {}, cli_session_id: 'session' };

describe('without a tracing library', () => {
  test.each([
    ['pushed', { port: 0 }],
    ['claimed', undefined],
  ])('a task that is %s has the trace it was submitted with, and so has its report', async (_how, listen) => {
    const { options, client } = await start();
    const { contexts, reported } = await startAgent(options, listen);
    await client.runTask(submission, { traceparent: PARENT, tracestate: STATE });
    expect(contexts).toMatchObject([{ traceparent: PARENT, tracestate: STATE }]);
    for (const headers of reported) {
      expect([headers.get('traceparent'), headers.get('tracestate')]).toEqual([PARENT, STATE]);
    }
    expect(reported.length).toBeGreaterThan(0);
  });

  test('a task without a trace, or with a malformed one, is claimed without and pushed with a new one', async () => {
    const { options, client } = await start();
    const claimed = await startAgent(options);
    await client.runTask(submission);
    await client.runTask(submission, { traceparent: `${PARENT}-more`, tracestate: STATE });
    expect(claimed.contexts.map(({ traceparent, tracestate }) => [traceparent, tracestate])).toEqual([
      [undefined, undefined],
      [undefined, undefined],
    ]);
    const pushed = await start();
    const { contexts } = await startAgent(pushed.options, { port: 0 });
    await pushed.client.runTask(submission, { traceparent: 'malformed', tracestate: STATE });
    expect(contexts[0]?.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    expect(contexts[0]?.tracestate).toBeUndefined();
  });

  test('a repeat under an Idempotency-Key may have another trace: the first one counts', async () => {
    const { options, client } = await start();
    const { request_id } = await client.submitTask(
      { ...submission, queue_timeout: 60 },
      { idempotencyKey: 'once', traceparent: PARENT },
    );
    const again = await client.submitTask(
      { ...submission, queue_timeout: 60 },
      { idempotencyKey: 'once', traceparent: PARENT.replace('4bf', '5bf') },
    );
    expect(again.request_id).toBe(request_id);
    const { contexts } = await startAgent(options);
    await client.getTask(request_id, { wait: 20 });
    expect(contexts.map(({ traceparent }) => traceparent)).toEqual([PARENT]);
  });

  test('the option of a client names the trace of each call that has none of its own', async () => {
    const { options } = await start();
    const { contexts } = await startAgent(options);
    const client = createClient({ ...options, traceparent: () => PARENT });
    await client.runTask(submission);
    await client.runTask(submission, { traceparent: PARENT.replace('-01', '-00') });
    expect(contexts.map(({ traceparent }) => traceparent)).toEqual([PARENT, PARENT.replace('-01', '-00')]);
  });
});

describe('with a tracing library', () => {
  /** The spans as lines of a tree: name, parent's name, and what is said of it. */
  async function describeSpans(exporter: InMemorySpanExporter, count: number) {
    await vi.waitFor(() => expect(exporter.getFinishedSpans()).toHaveLength(count), WAIT);
    const spans = exporter.getFinishedSpans();
    const nameOf = new Map(spans.map((span) => [span.spanContext().spanId, span.name]));
    return spans
      .map((span) => ({
        name: span.name,
        parent: nameOf.get(span.parentSpanContext?.spanId ?? '') ?? span.parentSpanContext?.spanId,
        trace: span.spanContext().traceId,
        attributes: span.attributes,
      }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  test('five spans of the gateway join the client’s to the agent’s', async () => {
    const exporter = registerLibrary();
    const { options, client } = await start();
    const tracer = trace.getTracer('test');
    const submitting = tracer.startSpan('client');
    const { traceId, spanId } = submitting.spanContext();
    const { contexts } = await startAgent(options, { port: 0 });
    const events = client.subscribeEvents('session');
    const task = await client.runTask(submission, {
      traceparent: `00-${traceId}-${spanId}-01`,
      tracestate: STATE,
    });
    for await (const { request_id } of events) if (request_id === task.request_id) break;
    submitting.end();
    const spans = await describeSpans(exporter, 6);
    const { request_id } = task;
    expect(spans).toEqual([
      expect.objectContaining({ name: 'client' }),
      expect.objectContaining({ name: 'deliver', parent: 'submit' }),
      expect.objectContaining({ name: 'match', parent: 'submit' }),
      expect.objectContaining({ name: 'push', parent: 'submit' }),
      expect.objectContaining({ name: 'report', parent: 'push' }),
      expect.objectContaining({ name: 'submit', parent: 'client' }),
    ]);
    expect(new Set(spans.map((span) => span.trace))).toEqual(new Set([traceId]));
    for (const { name, attributes } of spans) {
      if (name !== 'client') expect(attributes['task_gateway.request_id'], name).toBe(request_id);
    }
    const push = exporter.getFinishedSpans().find(({ name }) => name === 'push');
    expect(push?.attributes).toMatchObject({ 'task_gateway.agent_id': 'traced', 'task_gateway.status': 202 });
    expect(contexts).toMatchObject([
      { traceparent: `00-${traceId}-${push?.spanContext().spanId}-01`, tracestate: STATE },
    ]);
  });

  test('a task without a trace begins one, a claim carries it, and a waiting task is matched in it', async () => {
    const exporter = registerLibrary();
    const { options, client } = await start();
    const { request_id } = await client.submitTask({ ...submission, cli_session_id: '', queue_timeout: 60 });
    const { contexts } = await startAgent(options);
    await client.getTask(request_id, { wait: 20 });
    await vi.waitFor(
      () => expect(exporter.getFinishedSpans().map(({ name }) => name)).toContain('report'),
      WAIT,
    );
    const spans = exporter.getFinishedSpans();
    const submit = spans.find(({ name }) => name === 'submit');
    const { traceId = '', spanId = '' } = submit?.spanContext() ?? {};
    expect(new Set(spans.map((span) => span.spanContext().traceId))).toEqual(new Set([traceId]));
    expect(contexts).toMatchObject([{ traceparent: `00-${traceId}-${spanId}-01` }]);
    const matched = spans.filter(
      ({ name, attributes }) => name === 'match' && attributes['task_gateway.agent_id'],
    );
    expect(matched.map(({ parentSpanContext }) => parentSpanContext?.spanId)).toEqual([spanId]);
  });

  test('a push that is not taken is a failure, and each attempt has a span', async () => {
    const exporter = registerLibrary();
    const { client } = await start();
    const refused = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => refused.once('listening', resolve));
    const { port } = refused.address() as AddressInfo;
    refused.close();
    const endpoint = `http://127.0.0.1:${port}/`;
    await client.registerAgent({ agent_id: 'dead', endpoint, agent_tags: ['traced'] });
    await client.submitTask(submission, { traceparent: PARENT });
    const pushes = () => exporter.getFinishedSpans().filter(({ name }) => name === 'push');
    await vi.waitFor(() => expect(pushes().length).toBeGreaterThan(1), WAIT);
    for (const span of pushes()) {
      expect(span.status).toEqual({ code: 2, message: 'connection refused' });
      expect(span.attributes['task_gateway.agent_id']).toBe('dead');
      expect(span.spanContext().traceId).toBe(TRACE);
    }
  });

  test('what the client does not sample stays unsampled on its way, and has no span', async () => {
    const exporter = registerLibrary();
    const { options, client } = await start();
    const { contexts } = await startAgent(options, { port: 0 });
    await client.runTask(submission, { traceparent: PARENT.replace('-01', '-00') });
    expect(contexts[0]?.traceparent).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`));
    expect(exporter.getFinishedSpans()).toEqual([]);
  });

  test('one that is registered with an older API is reported, and nothing is traced', async () => {
    const key = Symbol.for('opentelemetry.js.api.1');
    Reflect.set(globalThis, key, { version: '1.2.0', trace: {} });
    onTestFinished(() => void Reflect.deleteProperty(globalThis, key));
    const warn = vi.fn();
    const { loadTracing } = await import('../../server/system/tracing.ts');
    expect((await loadTracing({ ...SILENT, warn })).isOn()).toBe(false);
    expect(warn).toHaveBeenCalledWith({ registered: '1.2.0' }, expect.stringContaining('nothing is traced'));
  });
});
