/** The checks of the guide's section "Output while it runs", and of the operations that it describes (L1). */
import { requireContact } from './agent-state-checks.ts';
import type { Check } from './check.ts';
import { requireForAdmin } from './client-operation-checks.ts';
import { type Fields, requireEqual, requireThat } from './findings.ts';
import { movedFromBusy } from './guarantee-checks.ts';
import type { Kit } from './kit.ts';
import * as output from './played-outputs.ts';
import { manyReaders } from './played-scenarios.ts';
import { type EventStream, requireObject, requireProblem } from './subject.ts';

/** How many seconds a read has to begin its wait. */
const BEGIN_SECONDS = 0.2;

const numbersOf = (pieces: readonly Fields[]): readonly unknown[] => pieces.map(({ n }) => n);

/** Returns the first frames of a stream, once it has so many. */
function awaitFrames(kit: Kit, stream: EventStream, count: number): Promise<readonly Fields[]> {
  return kit.until(`${count} frames are on the stream of an output`, () => {
    const frames = output.framesOf(stream);
    return frames.length < count ? undefined : frames.slice(0, count);
  });
}

/** Returns the numbers that a reader of an ended task gets. */
async function followedNumbers(
  kit: Kit,
  request_id: unknown,
  headers: Readonly<Record<string, string>>,
  query: Readonly<Record<string, string>> = {},
): Promise<readonly unknown[]> {
  const stream = await output.openOutput(kit, request_id, headers, query);
  return numbersOf(await output.framesToEnd(kit, stream));
}

const GUIDE_CHECKS: Readonly<Record<string, Check>> = {
  'output.an-agent-adds-pieces': async (kit) => {
    const { request_id, page, frames } = await kit.see(output.rewritten);
    const pieces = output.piecesOf(page);
    const written = [
      { n: 1, text: '你好\n' },
      { n: 2, data: { page: 1 } },
    ];
    requireEqual(pieces.slice(0, 2), written, 'The first two pieces');
    const next = await output.readPage(kit, request_id, { after: String(page.last) });
    requireEqual(output.piecesOf(next), [], 'The pieces of the next page');
    requireEqual(frames.slice(0, -1), pieces, 'The pieces on the stream');
  },
  'output.a-task-without-output': async (kit) => {
    const { agent, request_id } = await output.beginWork(kit);
    const stream = await output.openOutput(kit, request_id);
    await awaitFrames(kit, stream, 1);
    requireObject(await kit.report(agent, request_id, { status: 'running', progress: 40 }));
    const [, pushed] = await awaitFrames(kit, stream, 2);
    requireEqual(pushed, { status: 'running', progress: 40 }, 'The frame behind a report of progress');
    requireObject(await kit.report(agent, request_id, {}));
    const frames = await output.framesToEnd(kit, stream);
    requireEqual(frames.at(-1)?.end, true, '`end` of the last frame');
  },
  'fields.its-number-1-2': async (kit) => {
    const { page } = await kit.see(output.rewritten);
    requireEqual(numbersOf(output.piecesOf(page)), [1, 2, 3, 4, 5], 'The numbers of two writers’ pieces');
  },
  'output.a-writer-counts-its': async (kit) => {
    const { written } = await kit.see(output.rewritten);
    const next = written.map((answer) => requireObject(answer).next);
    requireEqual(next, [2, 1, 2], '`next` of one writer, then twice of another one');
  },
  'output.those-that-are-stored': async (kit) => {
    const { texts, tooFar } = await kit.see(output.repeated);
    requireEqual(texts, ['a', 'b', 'c'], 'The pieces that were sent again in part');
    output.requireGap(tooFar, 3, 'of a `from` that is too high');
  },
  'output.another-writer-begins-at': async (kit) => {
    const { written, page } = await kit.see(output.rewritten);
    requireEqual(written[1]?.status, 200, 'The status of another writer’s first write');
    requireEqual(output.piecesOf(page).at(-2), { n: 4, text: 'again' }, 'The first piece of another writer');
  },
  'output.if-there-are-pieces': async (kit) => {
    const { agent, page } = await kit.see(output.rewritten);
    const resets = output.piecesOf(page).filter((piece) => 'reset' in piece);
    const reset = { n: 3, reset: true, agent_id: agent.agent_id };
    requireEqual(resets, [reset], 'What stands before the pieces of each writer');
  },
  'output.a-writer-that-was': async (kit) => {
    const { replaced } = await kit.see(output.rewritten);
    for (const answer of replaced) output.requireGap(answer, 0, 'of a writer that was replaced');
  },
  'writeOutput.only-the-agent-that': async (kit) => {
    const { busy, other, request_id } = await movedFromBusy(kit);
    const writer = kit.name('writer');
    const writeAs = (agent: typeof busy) =>
      output.write(kit, { agent, request_id }, writer, 0, [{ text: 'x' }]);
    requireProblem(await writeAs(busy), 400, 'agent_mismatch', 'of the agent that had the task');
    requireEqual(requireObject(await writeAs(other)).accepted, true, '`accepted` of the agent that has it');
    requireObject(await kit.cancel(request_id));
  },
  'fields.false-if-nothing-was': async (kit) => {
    const { late, page } = await kit.see(output.rewritten);
    const { accepted, status } = requireObject(late);
    requireEqual([accepted, status], [false, 'success'], 'A write to a task that has ended');
    requireEqual(output.piecesOf(page).length, 5, 'The number of pieces behind it');
    const { more, done } = await kit.see(output.filled);
    requireEqual([more.accepted, more.status], [false, 'running'], 'A write beyond the limit');
    requireEqual(done.status, 'success', 'The task whose output is full');
  },
  'output.a-reader-continues-behind': async (kit) => {
    const { request_id } = await kit.see(output.rewritten);
    const page = await output.readPage(kit, request_id, { after: '3' });
    requireEqual(numbersOf(output.piecesOf(page)), [4, 5], 'The page behind number 3');
    const followed = await followedNumbers(kit, request_id, {}, { after: '3' });
    requireEqual(followed, [4, 5, 6], 'The stream behind number 3');
    const reopened = await followedNumbers(kit, request_id, { 'last-event-id': '4' });
    requireEqual(reopened, [5, 6], 'The stream with `Last-Event-ID: 4`');
  },
  'output.with-a-higher-one': async (kit) => {
    const { request_id } = await kit.see(output.rewritten);
    const page = await output.readPage(kit, request_id, { after: '99' });
    requireEqual(numbersOf(output.piecesOf(page)), [1, 2, 3, 4, 5], 'The page behind number 99');
    for (const id of ['99', 'no-number']) {
      const seen = await followedNumbers(kit, request_id, { 'last-event-id': id });
      requireEqual(seen, [1, 2, 3, 4, 5, 6], `The stream with \`Last-Event-ID: ${id}\``);
    }
  },
  'output.a-stream-says-first': async (kit) => {
    const work = await output.beginWork(kit);
    const { agent, request_id } = work;
    const writer = kit.name('writer');
    requireObject(await output.write(kit, work, writer, 0, [{ text: 'a' }]));
    const stream = await output.openOutput(kit, request_id);
    const first = [
      { status: 'running', progress: 0 },
      { n: 1, text: 'a' },
    ];
    requireEqual(await awaitFrames(kit, stream, 2), first, 'The first two frames');
    requireObject(await output.write(kit, work, writer, 1, [{ text: 'b' }]));
    requireObject(await kit.report(agent, request_id, { status: 'running', progress: 50 }));
    const next = [
      { n: 2, text: 'b' },
      { status: 'running', progress: 50 },
    ];
    requireEqual((await awaitFrames(kit, stream, 4)).slice(2), next, 'The next two frames');
    requireObject(await kit.cancel(request_id));
  },
  'output.its-last-frame-is': async (kit) => {
    const { request_id, stream, frames } = await kit.see(output.rewritten);
    const end = { n: 6, end: true, status: 'success', outcome: 'success', missing: null };
    requireEqual(frames.at(-1), end, 'The last frame');
    const { id = '' } = stream.events.at(-1) ?? {};
    requireEqual(id, '6', '`id` of the last frame');
    const again = await output.openOutput(kit, request_id, { 'last-event-id': id });
    requireEqual(again.status, 204, 'The status for a reader that has had the end');
  },
  'fields.pieces-that-no-reader': async (kit) => {
    const { page } = await kit.see(output.filled);
    requireEqual(page.missing, 'truncated', '`missing` of an output that reached its limit');
    const whole = await kit.see(output.rewritten);
    requireEqual(whole.page.missing, null, '`missing` of a whole output');
  },
};

const OPERATION_CHECKS: Readonly<Record<string, Check>> = {
  'readOutput.returns-the-output-of': async (kit) => {
    const { request_id, openPage, page, stream } = await kit.see(output.rewritten);
    const stands = ({ status, progress, outcome, last, complete }: Fields) => [
      ...[status, progress, outcome],
      ...[last, complete],
    ];
    requireEqual(page.request_id, request_id, '`request_id` of a page');
    requireEqual(stands(openPage), ['running', 0, null, 5, false], 'A page of a task that runs');
    requireEqual(stands(page), ['success', 100, 'success', 5, true], 'A page of a task that has ended');
    const type = String(stream.headers.get('content-type'));
    requireThat(type.startsWith('text/event-stream'), `The stream is ${type}.`);
  },
  'readOutput.with-wait-a-page': async (kit) => {
    const work = await output.beginWork(kit);
    const { agent, request_id } = work;
    const readDuring = async (after: string, change: () => Promise<unknown>): Promise<Fields> => {
      const page = output.readPage(kit, request_id, { after, wait: '60' });
      const changed = kit.pause(BEGIN_SECONDS).then(change);
      return (await Promise.all([page, changed]))[0];
    };
    const piece = await readDuring('0', () => output.write(kit, work, 'w', 0, [{ text: 'x' }]));
    requireEqual(output.piecesOf(piece), [{ n: 1, text: 'x' }], 'The page that waited for a piece');
    const end = await readDuring('1', () => kit.report(agent, request_id, {}));
    requireEqual([end.complete, end.status], [true, 'success'], 'The page that waited for the end');
  },
  'readOutput.the-administrator-s-secret': async (kit) => {
    const { request_id, page } = await kit.see(output.rewritten);
    requireEqual(await requireForAdmin(kit, 'GET', output.outputPath(request_id)), page, 'The page');
  },
  'readOutput.a-stream-has-the': async (kit) => {
    const { stream } = await kit.see(output.rewritten);
    const seen = ['cache-control', 'x-accel-buffering', 'content-encoding'].map((name) =>
      stream.headers.get(name),
    );
    requireEqual(seen, ['no-store, no-transform', 'no', null], 'Caching, buffering and encoding');
    const { refused } = await kit.see(manyReaders);
    requireProblem(refused, 429, 'too_many_streams', 'of one task, the 101st');
  },
  'writeOutput.adds-pieces-to-the': async (kit) => {
    const { request_id, written } = await kit.see(output.rewritten);
    const [first] = written.map(requireObject);
    const receipt = { ok: true, request_id, status: 'running', accepted: true, next: 2 };
    for (const [name, value] of Object.entries(receipt)) requireEqual(first?.[name], value, `\`${name}\``);
  },
  'writeOutput.repeat-the-same-call': async (kit) => {
    const { written, texts } = await kit.see(output.repeated);
    const [first, again] = written.map(requireObject);
    requireEqual(again, first, 'The response to a repeated write');
    requireEqual(texts.slice(0, 2), ['a', 'b'], 'The pieces behind it');
  },
  'writeOutput.a-write-is-contact': async (kit) => {
    const { agent, request_id } = await output.beginWork(kit);
    requireEqual((await kit.explain(request_id)).acknowledged, false, '`acknowledged` before the write');
    await requireContact(kit, agent, 'a write', async () =>
      requireObject(await output.write(kit, { agent, request_id }, 'w', 0, [{ text: 'x' }])),
    );
    requireEqual((await kit.explain(request_id)).acknowledged, true, '`acknowledged`');
  },
  'writeOutput.on-404-task-not': async (kit) => {
    const work = await output.beginWork(kit);
    const unknown = { ...work, request_id: kit.name('unknown') };
    const other = { ...work, agent: { agent_id: kit.name('agent') } };
    const send = (to: Parameters<typeof output.write>[1]) => output.write(kit, to, 'w', 0, [{ text: 'x' }]);
    requireProblem(await send(unknown), 404, 'task_not_found', 'to an unknown task');
    requireProblem(await send(other), 404, 'agent_not_found', 'of an unknown agent');
    requireObject(await kit.callAs(other.agent, 'register', { endpoint: 'pull', agent_tags: [] }));
    requireProblem(await send(other), 400, 'agent_mismatch', 'of another agent');
    requireObject(await kit.callAs(other.agent, 'unregister'));
  },
};

export const OUTPUT_CHECKS: Readonly<Record<string, Check>> = { ...GUIDE_CHECKS, ...OPERATION_CHECKS };
