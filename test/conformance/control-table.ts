/**
 * Tries every control on a gateway that conforms. As a program, `node test/conformance/control-table.ts`, it
 * writes `CONTROLS.md`, the table of checks and controls.
 */
import { writeFileSync } from 'node:fs';
import { startGateway } from '../harness/gateway-process.ts';
import { tryAgentControls } from './agent-control-table.ts';
import { AGENT_CONTROLS } from './agent-controls.ts';
import { type Control, SPECIFICATION_CONTROLS } from './controls.ts';
import { GUIDE_CONTROLS } from './guide-controls.ts';
import { CONTROL_SECRETS } from './planted-faults.ts';
import { REQUIREMENTS, type Requirement } from './requirements.ts';
import { runChecks } from './run-checks.ts';
import type { Send } from './subject.ts';
import { TRANSITION_CONTROLS } from './transition-controls.ts';

/** All of them, by the requirement whose check must find the fault. */
export const CONTROLS: Readonly<Record<string, Control>> = {
  ...SPECIFICATION_CONTROLS,
  ...TRANSITION_CONTROLS,
  ...GUIDE_CONTROLS,
};

/** The controls that are tried at the same time. */
const CONTROLS_AT_ONCE = 8;
const LIMIT_MS = 4_000;

/** The checks that found a fault or were kept from looking, by the requirement whose control planted it. */
export type Found = ReadonlyMap<string, readonly string[]>;

/** Runs the checks of its level once for each control against the gateway at `baseUrl`. */
export async function tryControls(baseUrl: string): Promise<Found> {
  const found = new Map<string, readonly string[]>();
  const waiting = Object.entries(CONTROLS);
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift())
      found.set(next[0], await findComplaints(baseUrl, next[1].plant, levelOf(next[0])));
  };
  await Promise.all(Array.from({ length: CONTROLS_AT_ONCE }, work));
  return new Map(Object.keys(CONTROLS).map((id) => [id, found.get(id) ?? []]));
}

/** The level of a requirement. */
function levelOf(id: string): Requirement['level'] | undefined {
  return REQUIREMENTS.find((one) => one.id === id)?.level;
}

/** Runs the kit with a fault in front of the gateway; throws an error where the kit itself fails. */
export async function findComplaints(
  baseUrl: string,
  plant: (send: Send) => Send,
  level?: Requirement['level'],
): Promise<readonly string[]> {
  const { gateway: auth, admin: adminAuth } = CONTROL_SECRETS;
  const send = plant((url, init) => fetch(url, { ...init, redirect: 'manual' }));
  const { verdicts } = await runChecks({
    gatewayUrl: baseUrl,
    auth,
    adminAuth,
    seed: 1,
    limitMs: LIMIT_MS,
    send,
    ...(level === undefined ? {} : { level }),
  });
  const [broken] = verdicts.filter(({ outcome }) => outcome === 'error');
  if (broken) throw new Error(`${broken.requirement.id}: ${broken.detail}`);
  return verdicts
    .filter(({ outcome }) => outcome === 'fail' || outcome === 'warn')
    .map(({ requirement }) => requirement.id);
}

type Faults = Readonly<Record<string, { readonly fault: string }>>;

function renderRows(found: Found, faults: Faults): readonly string[] {
  const rows = [...found].map(([id, ids]) => {
    const others = ids.filter((one) => one !== id).map((one) => `\`${one}\``);
    return `| \`${id}\` | ${faults[id]?.fault} | ${others.join(', ')} |`;
  });
  return ['| Requirement | The fault that is planted | Also found by |', '|---|---|---|', ...rows, ''];
}

/** The tables in Markdown. */
function renderPage(found: Found, foundInAgents: Found): string {
  return [
    '# The controls of the kit',
    '',
    'A check counts only if it was seen to fail. For each one a fault is planted between the kit and a gateway that',
    'conforms, and all checks of its level are run: the check of that row must find it, at every change of the kit.',
    'Checks that look at the same response may find it too.',
    '',
    ...renderRows(found, CONTROLS),
    '## Of agents',
    '',
    'Here the fault is planted in a small agent that does all that is required of one.',
    '',
    ...renderRows(foundInAgents, AGENT_CONTROLS),
  ].join('\n');
}

if (import.meta.main) {
  const { gateway: GATEWAY_AUTH, admin: ADMIN_AUTH } = CONTROL_SECRETS;
  const gateway = await startGateway({ GATEWAY_AUTH, ADMIN_AUTH });
  try {
    const page = renderPage(await tryControls(gateway.baseUrl), await tryAgentControls());
    writeFileSync(new URL('CONTROLS.md', import.meta.url), page);
  } finally {
    await gateway.stop();
  }
}
