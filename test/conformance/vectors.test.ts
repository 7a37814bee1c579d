/** The published vectors and states are correct: this repository's own readers agree with them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isAuthentic } from '../../sdk/agent/signature.ts';
import { createFrameReader } from '../../sdk/stream/frames.ts';
import { createEventParser } from './event-stream.ts';

const FOLDER = join(import.meta.dirname, '../../generated/conformance');
const read = (name: string) => JSON.parse(readFileSync(join(FOLDER, name), 'utf8'));

type Event = { readonly type: string; readonly data: string; readonly last_id: string };
type Stream = {
  readonly name: string;
  readonly chunks_base64: readonly string[];
  readonly events: readonly Event[];
};
type Signed = {
  readonly name: string;
  readonly id: string;
  readonly timestamp: string;
  readonly body: string;
  readonly now: number;
  readonly secrets: readonly string[];
  readonly signature: string;
  readonly valid: boolean;
};
type Row = {
  readonly from: string;
  readonly trigger: string;
  readonly to: { readonly status: string; readonly agent_id: string | null } | null;
  readonly refusal: string | null;
  readonly task_done: boolean;
};
type Problem = {
  readonly type: string;
  readonly status: number;
  readonly code: string;
  readonly detail: string;
};

const GUIDE = readFileSync(join(import.meta.dirname, '../../spec/guide.md'), 'utf8');
const streams: readonly Stream[] = read('vectors/event-streams.json');
const signatures: readonly Signed[] = read('vectors/signatures.json');
const problems: readonly Problem[] = read('vectors/problems.json');
const states: readonly Row[] = read('states.json');

describe('an event stream', () => {
  const chunksOf = ({ chunks_base64 }: Stream) => chunks_base64.map((text) => Buffer.from(text, 'base64'));

  test.each(streams)('is read by the kit: $name', (stream) => {
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
    const take = createEventParser();
    const events = chunksOf(stream).flatMap((bytes) => take(decoder.decode(bytes, { stream: true })));
    expect(events.map(({ type, data, id }) => ({ type, data, last_id: id }))).toEqual(stream.events);
  });

  test.each(streams)('is read by the SDK: $name', (stream) => {
    const take = createFrameReader();
    let last_id = '';
    const events = chunksOf(stream)
      .flatMap((bytes) => take(bytes))
      .flatMap((frame) => {
        if ('id' in frame && frame.id !== undefined) last_id = frame.id;
        if (frame.kind !== 'event') return [];
        return [{ type: frame.type ?? 'message', data: frame.data, last_id }];
      });
    expect(events).toEqual(stream.events);
  });
});

describe('a signature', () => {
  test.each(signatures)('is taken or refused by the SDK: $name', (signed) => {
    const { id, timestamp, body, now, secrets, signature, valid } = signed;
    const push = { id, timestamp, signature, body: Buffer.from(body) };
    expect(isAuthentic(push, secrets, now * 1_000)).toBe(valid);
  });

  test('of the guide is among them, with both of its secrets', () => {
    for (const [name] of GUIDE.matchAll(/v1,[A-Za-z0-9+/]{43}=/g))
      expect(signatures.map(({ signature }) => signature)).toContain(name);
    expect(signatures.filter(({ valid }) => !valid).length).toBeGreaterThan(5);
  });
});

describe('a problem', () => {
  test.each(problems)('says what it is: $code', ({ type, status, code, detail }) => {
    expect(type).toBe(`urn:task-gateway:problem:${code}`);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(detail).not.toBe('');
    expect(GUIDE).toContain(`\`${code}\``);
  });

  test('is named by each step of the order of checks', () => {
    const steps: readonly {
      readonly text: string;
      readonly problems: readonly { readonly code: string | null }[];
    }[] = read('vectors/order-of-checks.json');
    expect(steps).toHaveLength(10);
    expect(steps[0]?.problems.map(({ code }) => code)).toEqual([
      'malformed_request',
      'request_timeout',
      'headers_too_large',
    ]);
    const named = steps.flatMap((one) => one.problems.flatMap(({ code }) => (code === null ? [] : [code])));
    for (const code of named) expect(GUIDE).toContain(`\`${code}\``);
  });
});

describe('the table of states', () => {
  test('has every trigger in every state, and ends no task twice', () => {
    const froms = [...new Set(states.map(({ from }) => from))];
    expect(states.length).toBe(froms.length * new Set(states.map(({ trigger }) => trigger)).size);
    const settled = states.filter(({ from }) => from === 'success' || from === 'failed');
    expect(settled.length).toBeGreaterThan(30);
    expect(settled.filter(({ to, refusal }) => to !== null || refusal === null)).toEqual([]);
  });

  test('never goes back to pending, and has an event for each end alone', () => {
    for (const { from, trigger, to, refusal, task_done } of states) {
      const status = to?.status ?? '';
      expect([from, trigger, to === null]).toEqual([from, trigger, refusal !== null]);
      expect([from, trigger, task_done]).toEqual([from, trigger, ['success', 'failed'].includes(status)]);
      if (from !== 'pending') expect(status).not.toBe('pending');
    }
  });

  test('lets the agent that had a task end it, and no other', () => {
    const reports = states.filter(
      ({ from, trigger }) => from === 'running' && trigger.endsWith('reports success'),
    );
    const ends = reports.map(({ trigger, to, refusal }) => [trigger[0], to?.agent_id ?? refusal]);
    expect(ends).toEqual([
      ['A', 'A'],
      ['E', 'E'],
      ['B', 'agent_mismatch'],
    ]);
  });
});
