/**
 * A second gateway, written from the published documents alone: what the documents do not say, it cannot do.
 * The kit judges it as it judges ours, and both refuse the same requests in the same way.
 */
import { expect, onTestFinished, test } from 'vitest';
import { REQUIREMENTS } from '../conformance/requirements.ts';
import { runChecks } from '../conformance/run-checks.ts';
import { summarize } from '../conformance/verdicts.ts';
import { printFigure } from '../harness/figures.ts';
import { startGateway } from '../harness/gateway-process.ts';
import { startSecondGateway } from './second-gateway/serve.ts';
import { createPeer, SECRETS, sendWrongRequests } from './wrong-requests.ts';

/** What it leaves out: requirements by the beginning of their ids. */
const LEFT_OUT: Readonly<Record<string, readonly string[]>> = {
  'It serves no pages, probes and documents.': [
    'paths.',
    'fields.the-version-of-the',
    'order.the-documents-livez-and',
    'order.bytes-that-are-no',
    'errors.each-operation-lists-those',
    'errors.steps-1-and-3',
    'errors.the-title-of-route',
    'introduction.every-http-error-is',
  ],
  'It bounds nothing.': [
    'limits.',
    'fields.too-many-streams-are',
    'order.the-body-413-payload',
    'errors.busy-too-many-streams',
    'errors.validation-failed-malformed-body',
    'errors.an-agent-whose-result',
    'fields.false-if-nothing-was',
    'fields.pieces-that-no-reader',
    'output.a-question-leaves-its',
    'fields.json-pointer-rfc-6901',
    'fields.at-most-1-024',
    'fields.pieces-that-are-missing',
    'fields.the-pieces-behind-after',
    'fields.whether-the-task-is',
  ],
  'It counts no tasks, and neither sorts nor tags a page.': [
    'listAgents.with-limit-it-returns',
    'listTasks.',
    'fields.the-cursor-of-the',
    'fields.the-etag-of-an',
  ],
  'Its errors have no words.': ['output.those-that-are-stored', 'output.a-writer-that-was'],
  'It sends no header beside those of a push.': [
    'fields.how-the-task-ended',
    'fields.if-an-agent-reported',
    'fields.the-tracing-systems-own-entries-which',
  ],
  'It pushes again at once, and forgets who had a task before.': [
    'delivery.retry-after-seconds-or',
    'task-life.a-result-counts-from',
  ],
  'Its streams send no sign of life.': ['readOutput.a-stream-has-the'],
  'It has no names of its own.': ['order.where-none-is-needed'],
};

test('the second gateway keeps each requirement that asks for nothing but what it has', async () => {
  const second = await startSecondGateway(SECRETS);
  onTestFinished(second.stop);
  const { verdicts } = await runChecks({
    gatewayUrl: second.baseUrl,
    auth: SECRETS.gateway,
    adminAuth: SECRETS.admin,
    seed: 7,
    limitMs: 10_000,
  });
  const left = Object.entries(LEFT_OUT).flatMap(([reason, ids]) => ids.map((id) => [id, reason] as const));
  const known = Object.fromEntries(
    REQUIREMENTS.flatMap(({ id }) =>
      left.filter(([start]) => id.startsWith(start)).map(([, why]) => [id, why]),
    ),
  );
  const { unexpected, passed, counts } = summarize(
    verdicts.filter(({ detail }) => !detail.includes('not_served')),
    known,
  );
  printFigure('second-gateway-requirements', passed, 'passed');
  expect(unexpected.map(({ requirement, detail }) => `${requirement.id}: ${detail}`)).toEqual([]);
  expect(counts.error).toBe(0);
  expect(passed).toBeGreaterThan(200);
}, 300_000);

test('the second gateway and ours refuse the same requests in the same way', async () => {
  const ours = await startGateway({ GATEWAY_AUTH: SECRETS.gateway, ADMIN_AUTH: SECRETS.admin });
  onTestFinished(async () => void (await ours.stop()));
  const second = await startSecondGateway(SECRETS);
  onTestFinished(second.stop);
  const [expected, seen] = [createPeer(ours.baseUrl), createPeer(second.baseUrl)];
  await Promise.all([sendWrongRequests(expected), sendWrongRequests(seen)]);
  expect(expected.seen.length).toBeGreaterThan(1_000);
  expect(seen.seen).toEqual(expected.seen);
}, 120_000);
