/** What agents write and clients read of a task's output, step by step. */
import type { Fields } from './peer.ts';
import { cancel, follow, page, register, report, type Scenario, startClaimed, write } from './steps.ts';

const written: Scenario = async (peer, tag) => {
  const id = await startClaimed(peer, tag);
  const a = `${tag}-a`;
  const piece = (text: string): Fields => ({ text });
  await page(peer, id, '');
  await page(peer, id, '&wait=0.2');
  await write(peer, a, id, 0, [piece('一'), { data: [1.0, { a: null }] }]);
  await write(peer, a, id, 0, [piece('一'), { data: [1.0, { a: null }] }]);
  await write(peer, a, id, 1, [{ data: 'skipped' }, piece('三')]);
  await write(peer, a, id, 4, [piece('beyond')]);
  await write(peer, a, id, 1, [piece('x')], { writer: 'other' });
  await write(peer, a, id, 0, [piece('anew'), { data: null }], { writer: 'other' });
  await write(peer, a, id, 3, [piece('late')]);
  await write(peer, a, id, 0, [piece('late')]);
  await write(peer, `${tag}-b`, id, 0, [piece('x')]);
  await register(peer, `${tag}-b`, { endpoint: 'pull', agent_tags: [] });
  await write(peer, `${tag}-b`, id, 0, [piece('x')]);
  await write(peer, a, 'unknown', 0, [piece('x')]);
  for (const after of [0, 2, 6, 7, 1_000]) await page(peer, id, `&after=${after}`);
  await report(peer, a, id, { status: 'success', result: { output: 'x' } });
  await write(peer, a, id, 2, [piece('after')], { writer: 'other' });
  await write(peer, `${tag}-b`, id, 0, [piece('x')]);
  for (const after of [0, 3, 6, 7, 8]) await page(peer, id, `&after=${after}&wait=5`);
  for (const last of ['', '0', '3', '5', '6', '7', '8', 'none']) await follow(peer, id, last, '&after=4');
};

const cancelled: Scenario = async (peer, tag) => {
  const id = await startClaimed(peer, tag);
  await page(peer, id, '');
  await cancel(peer, id);
  await page(peer, id, '&wait=5');
  for (const last of ['', '1', '2']) await follow(peer, id, last);
  await page(peer, 'unknown', '');
};

/** All of them. */
export const OUTPUT_SCENARIOS: readonly Scenario[] = [written, cancelled];
