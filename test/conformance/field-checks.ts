/** The checks of what the document says about fields, parameters and headers (L1). */
import { read } from './admin-operation-checks.ts';
import { awaitAgent, awaitEnd, awaitTaken, awaitWaiting, giveTask, requireNoAgent } from './awaited-tasks.ts';
import type { Check } from './check.ts';
import { type Fields, isFields, listOf, requireEqual, requireThat } from './findings.ts';
import { requireAdmin } from './kit.ts';
import { beginWork, filled, piecesOf, readPage, write } from './played-outputs.ts';
import { answer } from './played-questions.ts';
import { type Answer, requireObject, requireProblem, requireStatus } from './subject.ts';

const AGENTS = '/api/admin/agents';
const SUBMIT = '/api/cli/tasks';

export const FIELD_CHECKS: Readonly<Record<string, Check>> = {
  'fields.secrets-are-never-listed': async (kit) => {
    const agent = await kit.startAgent();
    const { text } = await read(kit, AGENTS);
    requireThat(text.includes(agent.agent_id), 'The listing lacks a registered agent.');
    for (const secret of [kit.auth, requireAdmin(kit), ...kit.pushSecrets])
      requireThat(!text.includes(secret), 'The listing has a secret.');
  },
  'fields.seconds-without-contact-after': async (kit) => {
    const agent = await kit.startAgent();
    const fresh = requireObject(await read(kit, `${AGENTS}/${agent.agent_id}`));
    const { last_status, next_attempt_time } = isFields(fresh.push) ? fresh.push : {};
    const nulls = [fresh.lost_after, fresh.offline_time, last_status, next_attempt_time];
    requireEqual(
      nulls,
      [null, null, null, null],
      '`lost_after`, `offline_time`, `last_status` and `next_attempt_time`',
    );
    const unreachable = await kit.startAgent({ endpoint: kit.closedUrl() });
    const { request_id } = requireObject(await kit.submit([unreachable.tag]));
    const push = await kit.until('the listing has the push', async () => {
      const { pushes } = requireObject(await read(kit, `${AGENTS}/${unreachable.agent_id}`));
      return listOf(pushes)[0];
    });
    requireEqual(push.status, null, '`status` of a push without a response');
    requireObject(await kit.cancel(request_id));
  },
  'fields.the-etag-of-an': async (kit) => {
    const tag = kit.name('tag');
    await kit.startAgent({ agent_tags: [tag] });
    const page = (etag?: string) =>
      read(kit, AGENTS, { tag, limit: '9' }, etag === undefined ? {} : { 'if-none-match': etag });
    // The contact of an agent that has just registered may appear a moment later.
    const etag = await kit.until('two pages in a row have the same `ETag`', async () => {
      const [first, second] = [(await page()).headers.get('etag'), (await page()).headers.get('etag')];
      return first !== null && first === second ? first : undefined;
    });
    requireStatus(await page(etag), 304, 'with the `ETag` of the same page');
    requireStatus(await page('W/"another"'), 200, 'with another `ETag`');
    await kit.startAgent({ agent_tags: [tag] });
    const changed = await page(etag);
    requireStatus(changed, 200, 'with the `ETag` of a page that has changed');
    requireThat(changed.headers.get('etag') !== etag, 'The `ETag` of a page that has changed is the same.');
  },
  'fields.never-decreases': async (kit) => {
    const agent = await kit.startAgent({ endpoint: 'pull' });
    const request_id = await giveTask(kit, agent);
    const report = async (progress: number): Promise<unknown> => {
      requireObject(await kit.report(agent, request_id, { status: 'running', progress }));
      return (await kit.get(request_id)).progress;
    };
    requireEqual([await report(50), await report(30)], [50, 50], '`progress` of reports of 50, then 30');
    requireEqual(await report(60), 60, '`progress` of a report of 60');
    requireObject(await kit.report(agent, request_id, {}));
    const { progress, result } = await kit.get(request_id);
    requireEqual([progress, result], [100, {}], '`progress` and `result` of a success without a result');
  },
  'fields.json-pointer-rfc-6901': async (kit) => {
    const pointersOf = ({ json }: Answer): readonly unknown[] =>
      listOf(isFields(json) ? json.errors : []).map(({ pointer }) => pointer);
    const missing = await kit.subject.call('POST', SUBMIT, { json: { auth: kit.auth, task_tags: [1] } });
    for (const pointer of ['/task_type', '/payload', '/task_tags/0'])
      requireThat(pointersOf(missing).includes(pointer), `\`errors\` lack the pointer ${pointer}.`);
    const body = `{"auth":"${kit.auth}","task_type":"x","payload":{"${'k'.repeat(2_000)}":1e400}}`;
    const long = pointersOf(await kit.subject.call('POST', SUBMIT, { body }));
    requireEqual(long, ['/payload'], 'The pointers where a key is longer than 1,024 characters');
  },
  'fields.whether-the-task-is': async (kit) => {
    const { request_id } = (await kit.see(filled)).done;
    const first = await readPage(kit, request_id);
    requireEqual(first.complete, false, '`complete` of the first page of a large output');
    const bytes = JSON.stringify(piecesOf(first)).length;
    requireThat(bytes <= 300 * 2 ** 10, `A page has pieces of ${bytes} bytes; must be 256 KiB.`);
    const open = await beginWork(kit);
    requireEqual((await readPage(kit, open.request_id)).complete, false, '`complete` of an open task');
    requireObject(await kit.cancel(open.request_id));
    const { complete, missing } = await readPage(kit, open.request_id);
    requireEqual([complete, missing], [true, null], '`complete` and `missing` at the end');
  },
  'fields.a-piece-to-write': async (kit) => {
    const work = await beginWork(kit);
    const sent = await write(kit, work, 'w', 0, [{ text: 'a', data: 1 }]);
    requireProblem(sent, 422, 'validation_failed', 'of a piece with text and data');
    requireObject(await kit.cancel(work.request_id));
  },
  'fields.code-points-of-the': async (kit) => {
    const work = await beginWork(kit);
    const ask = (from: number, key: string, schema: Fields) =>
      write(kit, work, 'w', from, [
        { question: { key, prompt: '?', schema: { type: 'object', ...schema } } },
      ]);
    const fields = Array.from({ length: 21 }, (_, index) => [`f${index}`, { type: 'string' }]);
    const many = await ask(0, 'many', { properties: Object.fromEntries(fields) });
    requireProblem(many, 422, 'validation_failed', 'of a question with 21 fields');
    const short = { properties: { a: { type: 'string', maxLength: 2 } }, required: ['a'] };
    requireObject(await ask(0, 'short', short));
    for (const value of [{ a: '👍👍👍' }, {}])
      requireProblem(
        await answer(kit, work.request_id, value, 'short'),
        422,
        'validation_failed',
        `of ${value}`,
      );
    requireObject(await answer(kit, work.request_id, { a: '👍👍' }, 'short'));
    requireObject(await kit.cancel(work.request_id));
  },
  'fields.the-task-s-events': async (kit) => {
    const { request_id } = requireObject(await kit.submit([kit.name('nowhere')], { queue_timeout: 60 }));
    await awaitWaiting(kit, request_id);
    requireObject(await kit.cancel(request_id));
    const history = listOf((await kit.explain(request_id)).history);
    const events = history.map(({ event, agent_id }) => [event, agent_id]);
    const expected = [
      ['submitted', null],
      ['waiting', null],
      ['cancelled', null],
    ];
    requireEqual(events, expected, '`event` and `agent_id` in the history');
    for (const [index, { time }] of history.entries())
      requireThat(Number(time) >= Number(history[index - 1]?.last_time ?? 0), 'The history goes back.');
  },
  'fields.equal-things-in-a': async (kit) => {
    const agent = await kit.startAgent();
    const request_id = await giveTask(kit, agent);
    await awaitTaken(kit, request_id);
    for (const progress of [10, 20])
      requireObject(await kit.report(agent, request_id, { status: 'running', progress }));
    const { history, queue_timeout, hint, agent: seen } = await kit.explain(request_id);
    const reports = listOf(history).filter(({ event }) => event === 'progress');
    requireEqual(
      reports.map(({ count }) => count),
      [2],
      '`count` of two reports of progress',
    );
    const { silent_time, offline_time } = isFields(seen) ? seen : {};
    const nulls = [queue_timeout, hint, silent_time, offline_time];
    requireEqual(
      nulls,
      [null, null, null, null],
      '`queue_timeout`, `hint`, `silent_time` and `offline_time`',
    );
    requireObject(await kit.cancel(request_id));
  },
  'fields.they-are-compared-exactly': async (kit) => {
    const agent = await kit.startAgent();
    await requireNoAgent(kit, [agent.tag.toUpperCase()], 'with a tag in capitals');
    await requireNoAgent(kit, [` ${agent.tag}`], 'with a space before its tag');
  },
  'fields.the-tracing-systems-own-entries-which': async (kit) => {
    const agent = await kit.startAgent();
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const tracestate = `a=${'x'.repeat(200)},b=${'y'.repeat(200)},c=${'z'.repeat(200)}`;
    const submit = (headers: Readonly<Record<string, string>>) => kit.submit([agent.tag], {}, headers);
    const pushOf = async (sent: Answer) => {
      const { request_id } = requireObject(sent);
      await awaitAgent(kit, request_id, agent);
      const push = await kit.until('the push', () =>
        kit.pushesTo(agent).find(({ headers }) => headers['webhook-id'] === request_id),
      );
      requireObject(await kit.cancel(request_id));
      await awaitEnd(kit, request_id);
      return push.headers.tracestate ?? null;
    };
    const kept = await pushOf(await submit({ traceparent, tracestate }));
    requireEqual(kept, tracestate.slice(0, tracestate.lastIndexOf(',')), '`tracestate` of a push');
    requireEqual(await pushOf(await submit({ tracestate })), null, '`tracestate` without a `traceparent`');
  },
};
