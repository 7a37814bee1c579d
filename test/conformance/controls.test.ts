/**
 * The controls of the checks of a gateway: the tests see each check fail by a fault on the wire, and each
 * stated fault found. If a pair is missing, `node test/conformance/control-table.ts` searches for it.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type GatewayProcess, startGateway } from '../harness/gateway-process.ts';
import { CONTROLS, createIsFound, TRIED_SETTINGS, tryCheck, tryFault } from './fault-search.ts';
import { CHECKS, workThrough } from './run-checks.ts';
import { SLOW_CHECKS } from './slow-checks.ts';
import { listFaults } from './wire-faults.ts';

const AT_ONCE = 6;
/** The stated faults that no check finds, each with the reason. */
const UNFOUND: readonly (readonly [RegExp, string])[] = [
  [
    /^status → 418 of /,
    'No check brings the operation there, and another operation does: or nothing can from outside.',
  ],
  [/^(status|drop header) .* 304$/, 'A 304 is looked at on one list.'],
  [
    /^drop header (etag|agent-state|task-gateway-version|traceparent|tracestate) of /,
    'It is looked at elsewhere.',
  ],
  [/ header retry-after of every 429$/, 'Any number of seconds will do.'],
  [/^(drop|change) result\.(reply|output) of (POST .* 200|push)$/, 'A task that is open has no result.'],
  [/ match\.tags\[\]\.similar\./, 'No tag of the kit is similar to another.'],
  [/ match\.agents\[\]\S* of GET .*explain 200$/, 'An agent of a match is looked at in a preview.'],
  [
    / (agent|questions\[\])\.\S+ of GET .*explain 200$/,
    'Its agent is looked at alone, and questions in the output.',
  ],
  [/ pushes\[\]\.\S+ of POST .*drain 200$/, 'They are looked at where the agent is read.'],
  [/ replaced of POST /, 'It is there where an agent was replaced alone.'],
  [
    /^(drop|change) (question|answer)\S* of frames .*output$/,
    'Questions and answers are looked at on pages.',
  ],
  [
    /^(split|add line event of) frames .*output$|^add line event of /,
    'How a frame is cut is looked at in the other stream.',
  ],
  [/ line (retry|comment) of frames /, 'They are for readers that lose the connection.'],
  [
    /^drop filter\.\S+ of request /,
    'The filter is the one of the list, where each of its parts is looked at.',
  ],
  [
    /^drop (header|parameter|registration|cursor)\b.* of request /,
    'What it would change is not there while a check runs alone, or is looked at in another call.',
  ],
  [/ of reply 401$/, 'No agent of the kit refuses a signature.'],
];
let gateway: GatewayProcess;

beforeAll(async () => {
  gateway = await startGateway(TRIED_SETTINGS);
});
afterAll(async () => {
  await gateway?.stop();
});

/** Lists the items that do not hold. It tries each once more, alone: a busy machine may be late. */
async function listBroken<Item>(
  items: readonly Item[],
  holds: (item: Item) => Promise<boolean>,
): Promise<readonly Item[]> {
  const broken: Item[] = [];
  await workThrough(items, AT_ONCE, async (item) => void ((await holds(item)) || broken.push(item)));
  const confirmed: Item[] = [];
  await workThrough(broken, 1, async (item) => void ((await holds(item)) || confirmed.push(item)));
  return confirmed;
}

const checks = [...Object.keys(CHECKS), ...Object.keys(SLOW_CHECKS)].sort();

test('every check has a control', () => {
  expect(Object.keys(CONTROLS).sort()).toEqual(checks);
  for (const [id, lines] of Object.entries(CONTROLS)) expect([id, lines.length]).not.toEqual([id, 0]);
});

test('every stated fault has a check that finds it, or a reason why none does', () => {
  const { stated } = listFaults();
  const isFound = createIsFound(CONTROLS);
  const unfound = stated.filter((line) => !isFound(line));
  const isReasoned = (line: string): boolean => UNFOUND.some(([pattern]) => pattern.test(line));
  expect(unfound.filter((line) => !isReasoned(line))).toEqual([]);
  expect(UNFOUND.filter(([pattern]) => !unfound.some((line) => pattern.test(line)))).toEqual([]);
  console.log(`figure: conformance-faults ${stated.length}, of which ${unfound.length} are free`);
});

test('every check passes alone where nothing is planted', async () => {
  const passes = async (id: string): Promise<boolean> => (await tryCheck(gateway.baseUrl, id)) === 'passes';
  expect(await listBroken(checks, passes)).toEqual([]);
}, 300_000);

test('every check finds its faults', async () => {
  const pairs = Object.entries(CONTROLS).flatMap(([id, lines]) => lines.map((line) => ({ id, line })));
  const finds = async ({ id, line }: (typeof pairs)[number]): Promise<boolean> =>
    (await tryFault(gateway.baseUrl, id, line)) !== 'passes';
  console.log(`figure: conformance-controls ${pairs.length}`);
  expect(await listBroken(pairs, finds)).toEqual([]);
}, 600_000);
