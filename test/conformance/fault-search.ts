/**
 * Runs single checks of the kit against a gateway that conforms, with or without a fault on the wire, and
 * searches which check finds which fault.
 */
import { readFileSync } from 'node:fs';
import { createSimulator } from '../../server/simulator/index.ts';
import { OPERATIONS } from './documented.ts';
import { CONTROL_ORIGIN, CONTROL_SECRETS, type Planted, plantFault, readFault } from './planted-faults.ts';
import type { TakePush } from './pushed-agents.ts';
import { REQUIREMENTS, type Requirement } from './requirements.ts';
import { CHECKS, isComplaint, type RunOptions, runChecks, workThrough } from './run-checks.ts';
import { SLOW_CHECKS } from './slow-checks.ts';
import type { Send } from './subject.ts';
import { listFaults, nameCall } from './wire-faults.ts';

const LIMIT_MS = 6_000;
const AT_ONCE = 6;
/** How many faults are tried for a check, and how many more once one of them stops it on its way. */
const TRIES_MAX = 150;
const MORE_TRIES_MAX = 25;
/** How many characters of a text are searched for words. */
const TEXT_MAX = 20_000;
const WORDS = /[\w-]+/g;
/** In the ranking, being of the fault's own operation counts as much as so many matching words. */
const OWN = 9;

/** The settings of the gateway on which faults are tried. */
export const TRIED_SETTINGS = {
  GATEWAY_AUTH: CONTROL_SECRETS.gateway,
  ADMIN_AUTH: CONTROL_SECRETS.admin,
  PUSH_SECRET: CONTROL_SECRETS.push.join(' '),
  CORS_ORIGINS: CONTROL_ORIGIN,
};

type TriedSubject = Pick<RunOptions, 'gatewayUrl'> & Required<Pick<RunOptions, 'send' | 'clock'>>;

/** By how much the simulator's time moves at once, and how long that takes. */
const STEP_SECONDS = 0.1;
const STEP_MS = 4;

/** Runs the kit on a new simulator. The kit uses the simulator's time, which passes quickly. */
export async function withSimulator<T>(run: (subject: TriedSubject) => Promise<T>): Promise<T> {
  const { gateway: auth, admin: adminAuth, push: pushSecrets } = CONTROL_SECRETS;
  const simulator = createSimulator({ auth, adminAuth, pushSecrets, corsOrigins: [CONTROL_ORIGIN] });
  const { clock } = simulator;
  let isOver = false;
  const moved = (async () => {
    while (!isOver) {
      await new Promise((resolve) => setTimeout(resolve, STEP_MS));
      await clock.advance(STEP_SECONDS);
    }
  })();
  try {
    return await run({
      gatewayUrl: 'http://simulator.test',
      send: (url, init) => simulator.fetch(new Request(url, init)),
      clock: { nowMs: clock.nowMs, sleep: clock.sleep },
    });
  } finally {
    isOver = true;
    await moved;
  }
}

/** The checks that a simulator cannot pass, with the reason: it has neither pages nor bytes. */
export const NOT_IN_SIMULATOR: Readonly<Record<string, string>> = Object.fromEntries([
  ...REQUIREMENTS.filter(({ id }) => id.startsWith('paths.')).map(({ id }) => [
    id,
    'It has no paths beside the API.',
  ]),
  ['order.the-documents-livez-and', 'It has no paths beside the API.'],
  ['order.bytes-that-are-no', 'Its requests have no bytes.'],
  ['limits.headers-16-kib-within', 'Its requests have no bytes.'],
  ['errors.steps-1-and-3', 'Its requests have no bytes.'],
  ['errors.each-operation-lists-those', 'It has no paths beside the API.'],
  ['fields.the-version-of-the', 'It has no paths beside the API.'],
]);

/** Runs one check with something planted. Throws an error if the kit itself fails. */
export async function tryCheck(
  gatewayUrl: string,
  id: string,
  planted: Partial<Planted> = {},
): Promise<'passes' | 'finds' | 'stops'> {
  const run = async (subject: Pick<RunOptions, 'gatewayUrl' | 'send' | 'clock'>) => {
    const { gateway: auth, admin: adminAuth, push: pushSecrets } = CONTROL_SECRETS;
    const { send = (url, init) => fetch(url, { ...init, redirect: 'manual' }) } = subject;
    const { plant = (same: Send) => same, plantInPushes } = planted;
    const options = { auth, adminAuth, pushSecrets, origin: CONTROL_ORIGIN, seed: 1, limitMs: LIMIT_MS };
    const asked = { only: id, slow: id in SLOW_CHECKS, again: false, send: plant(send) };
    return runChecks({ ...subject, ...options, ...asked, ...(plantInPushes && { plantInPushes }) });
  };
  const { verdicts } = await (id in NOT_IN_SIMULATOR ? run({ gatewayUrl }) : withSimulator(run));
  const verdict = verdicts.find(({ requirement }) => requirement.id === id);
  if (verdict?.outcome === 'error') throw new Error(`${id}: ${verdict.detail}`);
  if (!verdict || !isComplaint(verdict)) return 'passes';
  // A refusal or a wait came before the check saw what it looks at, which shows little.
  return / got |^Not within /.test(String(verdict.cause)) ? 'stops' : 'finds';
}

/** Runs one check with a fault. */
export function tryFault(gatewayUrl: string, id: string, line: string): ReturnType<typeof tryCheck> {
  return tryCheck(gatewayUrl, id, plantFault(line, nameCall));
}

/** The words that a check met, by the place where it met them. */
type Met = ReadonlyMap<string, ReadonlySet<string>>;

/** Runs a check with nothing planted, and notes the words that it meets. */
async function meetGateway(gatewayUrl: string, id: string): Promise<Met> {
  const met = new Map<string, Set<string>>();
  const note = (places: readonly string[], ...texts: readonly (string | undefined)[]): void => {
    for (const place of places) {
      const words = met.get(place) ?? new Set();
      met.set(place, words);
      for (const text of texts)
        for (const word of text?.slice(0, TEXT_MAX).match(WORDS) ?? []) words.add(word);
    }
  };
  const namesOf = (headers: Iterable<readonly [string, string]>): string =>
    [...headers].map(([name]) => name.toLowerCase()).join(' ');
  const plant =
    (send: Send): Send =>
    async (url, init) => {
      const call = nameCall(init.method, new URL(url).pathname);
      note([`request ${call}`, `response ${call}`], url, init.body, namesOf(Object.entries(init.headers)));
      const response = await send(url, init);
      const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
      const { status } = response;
      const text = isStream ? '' : await response.clone().text();
      const every = [`every ${status}`, ...(status >= 400 ? ['every problem'] : [])];
      note([`${call} ${status}`, ...every], text, namesOf(response.headers));
      if (isStream) note([`frames ${call}`]);
      return response;
    };
  const plantInPushes =
    (take: TakePush): TakePush =>
    async (push) => {
      note(['push'], push.bytes.toString(), namesOf(Object.entries(push.headers)));
      const reply = await take(push);
      if (reply !== 'cut') note([`reply ${reply.status}`], namesOf(Object.entries(reply.headers ?? {})));
      return reply;
    };
  await tryCheck(gatewayUrl, id, { plant, plantInPushes });
  return met;
}

type Place = { readonly line: string; readonly place: string; readonly words: readonly string[] };

function readPlace(line: string): Place {
  const { what, place } = readFault(line);
  const isNamed = /^[\w.[\]]+( .+)?$|^(header|parameter) /.test(what) && what !== 'body';
  const name = what.replace(/^(header|parameter) /, '');
  const words = isNamed ? [...(name.replaceAll('[]', '').split('.').at(-1)?.match(WORDS) ?? [])] : [];
  return { line, place, words };
}

function isMet({ place, words }: Place, met: Met): boolean {
  const there = met.get(place);
  return there !== undefined && (place.startsWith('frames ') || words.every((word) => there.has(word)));
}

/** Counts the words of a fault that a requirement's sentence has. */
function countNamed({ place, words }: Place, { id, text }: Requirement): number {
  const named = new Set(`${text} ${id}`.match(WORDS));
  const status = / (\d{3})$/.exec(place)?.[1] ?? '';
  return words.filter((word) => named.has(word)).length + (status !== '200' && named.has(status) ? 1 : 0);
}

/** The faults that each check finds: first its control, then others that no earlier check finds. */
export type Controls = Readonly<Record<string, readonly string[]>>;

type Searched = {
  readonly gatewayUrl: string;
  readonly faults: readonly Place[];
  readonly met: ReadonlyMap<string, Met>;
};

/** The faults that `controls.json` remembers. */
export const CONTROLS: Controls = JSON.parse(readFileSync(new URL('controls.json', import.meta.url), 'utf8'));

/** Searches for a control for each check that has none. */
async function searchForChecks(
  { gatewayUrl, faults, met }: Searched,
  found: Map<string, readonly string[]>,
): Promise<void> {
  const keyOf = ({ place, words }: Place): string => `${words} of ${place}`;
  const metBy = (id: string): readonly Place[] => faults.filter((one) => isMet(one, met.get(id) as Met));
  const counts = new Map<string, number>();
  for (const id of met.keys())
    for (const key of new Set(metBy(id).map(keyOf))) counts.set(key, (counts.get(key) ?? 0) + 1);
  const lacking = REQUIREMENTS.filter(({ id }) => met.has(id) && !found.get(id)?.length);
  await workThrough(lacking, AT_ONCE, async (requirement) => {
    const { id } = requirement;
    const ranked = metBy(id)
      .map((one) => ({ one, named: countNamed(one, requirement), by: counts.get(keyOf(one)) ?? 0 }))
      .sort((a, b) => b.named - a.named || isRequest(a.one) - isRequest(b.one) || a.by - b.by);
    let second: string | undefined;
    for (const [count, { one }] of ranked.slice(0, TRIES_MAX).entries()) {
      if (second !== undefined && count > MORE_TRIES_MAX) break;
      const outcome = await tryFault(gatewayUrl, id, one.line);
      if (outcome === 'stops') second ??= one.line;
      if (outcome === 'finds') return void found.set(id, [one.line]);
    }
    if (second !== undefined) found.set(id, [second]);
  });
}

/** Searches for a check for each stated fault that has none, first among those of its operation. */
async function searchForFaults(
  { gatewayUrl, met }: Searched,
  stated: readonly string[],
  found: Map<string, readonly string[]>,
): Promise<void> {
  const isKnown = createIsFound(Object.fromEntries(found));
  const search = async (line: string): Promise<boolean> => {
    const one = readPlace(line);
    const owner = OPERATIONS.find(({ call }) => one.place.includes(call))?.operationId;
    const able = REQUIREMENTS.filter(({ id }) => id in CHECKS && isMet(one, met.get(id) as Met))
      .map((requirement) => ({
        id: requirement.id,
        named: countNamed(one, requirement) + (requirement.id.startsWith(`${owner}.`) ? OWN : 0),
        size: met.get(requirement.id)?.size ?? 0,
      }))
      .sort((a, b) => b.named - a.named || a.size - b.size);
    for (const { id } of able.slice(0, MORE_TRIES_MAX)) {
      if ((await tryFault(gatewayUrl, id, line)) === 'passes') continue;
      found.set(id, [...(found.get(id) ?? []), line]);
      return true;
    }
    return false;
  };
  await workThrough(
    stated.filter((line) => !isKnown(line)),
    AT_ONCE,
    async (line) =>
      void ((await search(line)) || (line.startsWith('change ') && (await search(retype(line))))),
  );
}

/** Returns the fault that gives the same field a value of another type. */
const retype = (line: string): string => line.replace(/^change (?!header )/, 'retype ');

/** Creates a check for whether a fault is known to be found, or the same field with another type is. */
export function createIsFound(controls: Controls): (line: string) => boolean {
  const lines = new Set(Object.values(controls).flat());
  return (line) => lines.has(line) || lines.has(retype(line));
}

const isRequest = ({ place }: Place): number => Number(place.startsWith('request '));

/** Searches for a control for each check and a check for each stated fault, if none is remembered. */
export async function searchControls(gatewayUrl: string, remembered: Controls): Promise<Controls> {
  const { stated, more } = listFaults();
  const faults = [...stated, ...more].map(readPlace);
  const lines = new Set(faults.map(({ line }) => line));
  const ids = [...Object.keys(CHECKS), ...Object.keys(SLOW_CHECKS)];
  const found = new Map<string, readonly string[]>();
  await workThrough(ids, AT_ONCE, async (id) => {
    const kept: string[] = [];
    for (const line of remembered[id] ?? [])
      if (lines.has(line) && (await tryFault(gatewayUrl, id, line)) !== 'passes') kept.push(line);
    found.set(id, kept);
  });
  const met = new Map<string, Met>();
  await workThrough(ids, AT_ONCE, async (id) => void met.set(id, await meetGateway(gatewayUrl, id)));
  await searchForChecks({ gatewayUrl, faults, met }, found);
  await searchForFaults({ gatewayUrl, faults, met }, stated, found);
  return Object.fromEntries(ids.map((id) => [id, found.get(id) ?? []]));
}
