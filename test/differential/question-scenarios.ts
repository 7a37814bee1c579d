/** What agents ask about their tasks and clients answer, step by step. */
import { type Fields, until } from './peer.ts';
import {
  answer,
  claimAnswer,
  claimDuring,
  form,
  listAsking,
  question,
  startWriter,
} from './question-steps.ts';
import {
  cancel,
  claim,
  follow,
  page,
  register,
  report,
  running,
  type Scenario,
  startClaimed,
  startPushed,
  submit,
  write,
} from './steps.ts';

const APPROVE = { type: 'object', properties: { approve: { type: 'boolean' } }, required: ['approve'] };
const YES = { approve: true };

const answered: Scenario = async (peer, tag) => {
  const [id, a] = [await startClaimed(peer, tag), `${tag}-a`];
  const writeOn = startWriter(peer, a, id);
  const pending = await submit(peer, tag, { task_tags: ['nobody'], queue_timeout: 300 });
  await answer(peer, id, 'k', YES);
  await answer(peer, pending.body.request_id, 'k', YES);
  await claimAnswer(peer, a, id, 'k');
  await claimAnswer(peer, a, pending.body.request_id, 'k');
  await writeOn({ text: '一' }, question('k', { schema: APPROVE, unknown: 1 }), { text: '二' });
  await write(peer, a, id, 0, [{ text: '一' }, question('k', { schema: APPROVE }), { text: '二' }]);
  await claimAnswer(peer, a, id, 'k');
  await claimAnswer(peer, a, id, 'k', 0.2);
  await claimAnswer(peer, a, id, 'other', 0.2);
  await answer(peer, id, 'other', YES);
  await listAsking(peer, tag);
  await claimDuring(peer, a, id, 'k', () => answer(peer, id, 'k', YES));
  await listAsking(peer, tag);
  for (const value of [YES, { approve: false }, 'invalid', undefined]) await answer(peer, id, 'k', value);
  await claimAnswer(peer, a, id, 'k');
  // Pieces that are stored already are skipped, whatever they are.
  await write(peer, a, id, 0, [{ text: '一' }, question('k', { prompt: 'Else?' }), { text: '二' }]);
  await write(peer, a, id, 0, [question('skipped')]);
  await answer(peer, id, 'skipped', 1);
  // The same question again, while it is open and when it is answered; then with another content.
  await writeOn(question('any'), question('any'), { data: 1 });
  await writeOn(question('any'));
  await answer(peer, id, 'any');
  for (const value of [null, false, undefined]) await answer(peer, id, 'any', value);
  await writeOn(question('any'), { text: 'between' }, question('k', { schema: APPROVE }));
  await write(peer, a, id, 3, [question('any'), question('any'), { data: 1 }]);
  await writeOn(question('any', { prompt: 'Else?' }));
  await writeOn({ text: 'x' }, question('any', { schema: APPROVE }));
  await writeOn(question('k', { schema: { ...APPROVE, required: [] } }));
  // Values are equal whatever the order of their keys.
  await writeOn(question('value'));
  for (const value of [
    { a: [1, { b: 0, c: '' }], d: null },
    { d: null, a: [1.0, { c: '', b: -0 }] },
    { a: [{ b: 0, c: '' }, 1], d: null },
    { a: [1, { b: 0, c: '' }] },
  ])
    await answer(peer, id, 'value', value);
  const reversed = { required: ['approve'], properties: APPROVE.properties, type: 'object' };
  await writeOn(question('k', { schema: reversed }));
  for (const after of [0, 3, 8]) await page(peer, id, `&after=${after}`);
  await report(peer, a, id, { status: 'success' });
  for (const last of ['', '5', '30']) await follow(peer, id, last);
};

const wrongAnswers: Scenario = async (peer, tag) => {
  const [id, a] = [await startClaimed(peer, tag), `${tag}-a`];
  const more = { title: 'T', description: 'D' };
  const fields = {
    word: { type: 'string', enum: ['a', 'b'], default: 'a', ...more },
    text: { type: 'string', minLength: 2, maxLength: 3, default: '好的', ...more },
    number: { type: 'number', minimum: 0.5, maximum: 1.5, default: 1, ...more },
    whole: { type: 'integer', minimum: -1, maximum: 2, default: 0, ...more },
    flag: { type: 'boolean', default: false, ...more },
    'a/b~c': { type: 'boolean' },
    constructor: { type: 'string' },
  };
  const writeOn = startWriter(peer, a, id);
  await writeOn(form('form', fields, { required: ['flag', 'a/b~c', 'constructor'] }));
  const right = { flag: true, 'a/b~c': false, constructor: '' };
  const long = { ['~'.repeat(1_000)]: 1, ['好'.repeat(1_020)]: 1, ['/'.repeat(300)]: 1 };
  for (const wrong of [long, null, [], 'text', {}, { flag: true }, { constructor: '' }, [right]])
    await answer(peer, id, 'form', wrong);
  for (const wrong of [
    ...[{ word: 'c' }, { word: 1 }, { word: null }, { text: '好' }, { text: '好的好的' }, { text: ['ab'] }],
    ...[{ text: '😀' }, { number: 0.4 }, { number: 1.6 }, { number: '1' }, { whole: -2 }, { whole: 3 }],
    ...[{ whole: 1.5 }, { flag: 'true' }, { flag: null }, { 'a/b~c': 0 }, { other: 1 }, { toString: 1 }],
    ...[
      { other: 1, more: 2, flag: 0 },
      { word: 'c', text: '', number: {}, whole: [], 'a/b~c': '' },
    ],
  ])
    await answer(peer, id, 'form', { ...right, ...wrong });
  await claimAnswer(peer, a, id, 'form');
  const whole = { word: 'b', text: '😀😀😀', number: 1.5, whole: 2.0 };
  await answer(peer, id, 'form', { ...right, ...whole });
  await claimAnswer(peer, a, id, 'form');
  await writeOn(form('none', {}), question('long'), form('wide', { t: { type: 'string' } }));
  for (const value of [{ a: 1 }, {}]) await answer(peer, id, 'none', value);
  for (const value of ['x'.repeat(8_191), '好'.repeat(2_731), 'x'.repeat(8_190)])
    await answer(peer, id, 'long', value);
  await answer(peer, id, 'wide', { t: 'x'.repeat(8_190) });
  await cancel(peer, id);
  await follow(peer, id, '');
};

const wrongQuestions: Scenario = async (peer, tag) => {
  const [id, a] = [await startClaimed(peer, tag), `${tag}-a`];
  const field = (value: Fields): Fields => form('k', { f: value });
  const texts = (count: number, type: unknown = 'string'): Fields =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`f${n}`, { type }]));
  const properties = { f: { type: 'boolean' } };
  for (const wrong of [
    question(''),
    question('😀'.repeat(257)),
    question('k', { prompt: '' }),
    question('k', { prompt: '好'.repeat(2_001) }),
    question('k', { schema: null }),
    question('k', { schema: {} }),
    question('k', { schema: { type: 'array', properties } }),
    question('k', { schema: { type: 'object', properties: null } }),
    { question: null },
    { question: { key: 'k' } },
    { question: { prompt: 'p' } },
    { text: 'x', question: { key: 'k', prompt: 'p' } },
    { answer: { key: 'k', answer: 1 } },
    form('k', properties, { pattern: '.*', $ref: '#', 'a/b': 1 }),
    form('k', properties, { required: ['f', 'g', 'h'] }),
    form('k', properties, { required: 'f' }),
    form('k', { '': { type: 'boolean' } }),
    form('k', { ['n'.repeat(257)]: { type: 'boolean' } }),
    form('k', texts(21)),
    form('k', { f: null, g: 1, 'h/i': { type: 'object' }, j: {} }),
    field({ type: 'string', pattern: '.*' }),
    field({ type: 'string', properties: {} }),
    field({ type: 'string', minimum: 1, maximum: 2 }),
    field({ type: 'number', enum: ['a'] }),
    field({ type: 'integer', minLength: 1, maxLength: 2 }),
    field({ type: 'boolean', minimum: 1 }),
    field({ type: 'string', enum: [] }),
    field({ type: 'string', minLength: 3, maxLength: 2 }),
    field({ type: 'string', minLength: -1, maxLength: 1.5 }),
    field({ type: 'number', minimum: 3, maximum: 2 }),
    field({ type: 'string', default: 1 }),
    field({ type: 'string', enum: ['a'], default: 'b' }),
    field({ type: 'integer', maximum: 2, default: 2.5 }),
    field({ type: 'number', default: null }),
    field({ type: 'string', title: 1, description: null }),
    field({ type: 'string', description: 'x'.repeat(8_192) }),
  ])
    await write(peer, a, id, 0, [{ text: 'before' }, wrong]);
  const writeOn = startWriter(peer, a, id);
  await page(peer, id, '');
  await writeOn(question('😀'.repeat(256), { prompt: '好'.repeat(2_000) }), form('fields', texts(20)));
  await writeOn(...Array.from({ length: 13 }, (_, n) => question(`q${n}`)));
  await writeOn({ text: 'x' }, question('sixteenth'), question('seventeenth'));
  await writeOn(question('sixteenth'));
  await writeOn({ text: 'x' }, question('seventeenth'));
  await writeOn(question('q3'));
  await answer(peer, id, 'q3', 3);
  await answer(peer, id, 'q4', 4);
  await writeOn(question('seventeenth'));
  // Another writer withdraws those that are open; answered ones still count.
  const writeAnew = startWriter(peer, a, id, 'anew');
  await writeAnew(...Array.from({ length: 15 }, (_, n) => question(`new${n}`)));
  await writeAnew(...Array.from({ length: 14 }, (_, n) => question(`new${n}`)));
  await writeAnew(question('new14'));
  await writeAnew(question('q3'), question('q4'));
  await page(peer, id, '&after=18');
  await cancel(peer, id);
};

const restarted: Scenario = async (peer, tag) => {
  const [id, a] = [await startClaimed(peer, tag), `${tag}-a`];
  const writeFirst = startWriter(peer, a, id);
  await writeFirst(question('kept', { schema: APPROVE }), question('open'), question('gone'));
  await answer(peer, id, 'kept', YES);
  const [writeSecond, writeThird] = ['second', 'third'].map((one) => startWriter(peer, a, id, one));
  await claimDuring(peer, a, id, 'open', async () => writeSecond?.({ text: 'anew' }));
  await listAsking(peer, tag);
  for (const key of ['kept', 'open']) await answer(peer, id, key, YES);
  for (const key of ['kept', 'open']) await claimAnswer(peer, a, id, key);
  await writeFirst(question('open'));
  await write(peer, a, id, 0, [question('open')]);
  await writeSecond?.({ text: '一' }, question('kept', { schema: APPROVE }), { text: '二' });
  await writeSecond?.(question('kept'));
  await writeSecond?.(question('open', { prompt: 'Now?', schema: APPROVE }));
  await listAsking(peer, tag);
  await answer(peer, id, 'open', 'x');
  await answer(peer, id, 'open', YES);
  await writeThird?.(question('kept', { prompt: 'Else?' }));
  await writeThird?.(
    question('kept', { schema: APPROVE }),
    question('open', { prompt: 'Now?', schema: APPROVE }),
    question('gone'),
  );
  await listAsking(peer, tag);
  await page(peer, id, '');
  await report(peer, a, id, { status: 'failed', error_info: 'x' });
  await follow(peer, id, '4');
};

const ended: Scenario = async (peer, tag) => {
  const [a, b] = [`${tag}-a`, `${tag}-b`];
  await register(peer, a, { endpoint: 'pull', agent_tags: [tag], max_concurrent: 4 });
  const ends: Readonly<Record<string, (id: unknown) => Promise<unknown>>> = {
    cancel: (id) => cancel(peer, id),
    success: (id) => report(peer, a, id, { status: 'success' }),
    failed: (id) => report(peer, a, id, { status: 'failed' }),
    timeout: async () => undefined,
  };
  const ids: [string, unknown][] = [];
  for (const name of Object.keys(ends)) {
    const { body } = await submit(peer, tag, { timeout: name === 'timeout' ? 8 : 300 });
    const { request_id } = (await claim(peer, a, { wait: 5 })).body;
    peer.record('claimed', request_id === body.request_id);
    ids.push([name, request_id]);
  }
  for (const [, id] of ids.toReversed()) await startWriter(peer, a, id)(question('k'));
  await listAsking(peer, tag);
  for (const [name, id] of ids) {
    await claimAnswer(peer, b, id, 'k');
    await claimDuring(peer, a, id, 'k', async () => ends[name]?.(id));
    await answer(peer, id, 'k', 1);
    await claimAnswer(peer, a, id, 'k', 1);
    await claimAnswer(peer, b, id, 'k');
    await write(peer, a, id, 1, [question('k'), question('more')]);
    await follow(peer, id, '');
  }
  await listAsking(peer, tag);
  await register(peer, b, { endpoint: 'pull', agent_tags: [] });
  for (const [, id] of ids.slice(0, 1)) await claimAnswer(peer, b, id, 'k');
  for (const agent_id of [a, 'unknown']) await claimAnswer(peer, agent_id, 'unknown', 'k');
  await answer(peer, 'unknown', 'k', 1);
};

const moved: Scenario = async (peer, tag) => {
  const { id, endpoint, pushed } = await startPushed(peer, tag, [{ status: 202 }, { status: 503 }]);
  const [a, b] = [`${tag}-a`, `${tag}-b`];
  await until('a push', () => pushed[0]);
  await running(peer, id, a);
  await startWriter(peer, a, id)(question('kept'), question('open'));
  await answer(peer, id, 'kept', '好');
  await register(peer, b, { endpoint: 'pull', agent_tags: [tag] });
  await claimAnswer(peer, b, id, 'kept');
  await claimDuring(peer, a, id, 'open', async () => {
    await register(peer, a, { endpoint, agent_tags: [tag], max_concurrent: 3, request_ids: [] });
    await running(peer, id, b);
  });
  await listAsking(peer, tag);
  await answer(peer, id, 'open', 1);
  await claimAnswer(peer, a, id, 'kept');
  await claimAnswer(peer, b, id, 'open');
  await claimAnswer(peer, b, id, 'kept');
  await startWriter(peer, b, id)(question('open'), question('kept'));
  await listAsking(peer, tag);
  await answer(peer, id, 'open', 2);
  await page(peer, id, '');
  await cancel(peer, id);
};

/** All of them. */
export const QUESTION_SCENARIOS: readonly Scenario[] = [
  answered,
  wrongAnswers,
  wrongQuestions,
  restarted,
  ended,
  moved,
];
