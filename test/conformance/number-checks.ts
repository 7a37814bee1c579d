/** The checks of the guide's section "Numbers and keys" (L1). */
import type { Check } from './check.ts';
import { requireEqual, requireThat } from './findings.ts';
import type { Kit } from './kit.ts';
import { type Answer, requireObject, requireProblem } from './subject.ts';

const SUBMIT = '/api/cli/tasks';

/** Submits a payload exactly as it is written here. */
function submitWritten(kit: Kit, payload: string): Promise<Answer> {
  const head = JSON.stringify({ auth: kit.auth, task_type: 'x', task_tags: [kit.name('nowhere')] });
  return kit.subject.call('POST', SUBMIT, { body: `${head.slice(0, -1)},"payload":${payload}}` });
}

/** Submits a payload; returns its text as it stands in the task's response. */
async function readWritten(kit: Kit, payload: string): Promise<string> {
  const { request_id } = requireObject(await submitWritten(kit, payload));
  const read = await kit.subject.call('GET', `${SUBMIT}/${request_id}`, { query: { auth: kit.auth } });
  requireObject(read);
  return read.text.replaceAll(/(?<=[:,{[])\s+|\s+(?=[:,}\]])/g, '');
}

/** Requires that a submitted payload comes out as it is written here. */
async function requireWritten(kit: Kit, sent: string, expected: string): Promise<void> {
  const text = await readWritten(kit, sent);
  const seen = text.slice(text.indexOf('"payload":') + '"payload":'.length);
  requireThat(seen.startsWith(expected), `${sent} came out as ${seen.slice(0, 120)}; must be ${expected}.`);
}

export const NUMBER_CHECKS: Readonly<Record<string, Check>> = {
  'numbers.payloads-and-results-are': async (kit) => {
    for (const payload of [[], 'text', 1, null])
      requireProblem(await kit.submit([], { payload }), 422, 'validation_failed', 'with another payload');
    const agent = await kit.startAgent({ endpoint: 'pull' });
    const { request_id } = requireObject(await kit.submit([agent.tag]));
    requireObject(await kit.callAs(agent, 'claim', { wait: 5 }));
    for (const result of [[], 'text', 1]) {
      const answer = await kit.report(agent, request_id, { result });
      requireProblem(answer, 422, 'validation_failed', 'with another result');
    }
    requireObject(await kit.report(agent, request_id, { result: { n: {} } }));
    requireEqual((await kit.get(request_id)).result, { n: {} }, 'The result');
  },
  'numbers.texts-and-keys-come': (kit) =>
    requireWritten(
      kit,
      '{"b":"é你\\u0000😀","10":1,"a":[" ",{"z":0,"y":0}],"2":2,"":0}',
      '{"2":2,"10":1,"b":"é你\\u0000😀","a":[" ",{"z":0,"y":0}],"":0}',
    ),
  'numbers.of-two-equal-keys': (kit) =>
    requireWritten(kit, '{"a":1,"b":{"c":1,"c":2},"a":"last"}', '{"a":"last","b":{"c":2}}'),
  'numbers.numbers-are-ieee-doubles': (kit) =>
    requireWritten(
      kit,
      '{"n":[1.0,0.1,-2.50e3,9007199254740993,1e21]}',
      '{"n":[1,0.1,-2500,9007199254740992,1e+21]}',
    ),
  'fields.a-number-too-large': async (kit) => {
    for (const number of ['1e400', '-1e400'])
      requireProblem(
        await submitWritten(kit, `{"n":[${number}]}`),
        422,
        'validation_failed',
        `with ${number}`,
      );
  },
};
