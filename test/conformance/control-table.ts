/**
 * Tries every control on a gateway that conforms. As a program, `node test/conformance/control-table.ts`, it
 * writes `CONTROLS.md`, the table of checks and controls.
 */
import { writeFileSync } from 'node:fs';
import { createSimulator } from '../../server/simulator/index.ts';
import { startGateway } from '../harness/gateway-process.ts';
import { AGENT_CONTROLS } from './agent-controls.ts';
import { CLIENT_CONTROLS } from './client-controls.ts';
import { type Control, SPECIFICATION_CONTROLS } from './controls.ts';
import { DELIVERY_CONTROLS } from './delivery-controls.ts';
import { FIELD_CONTROLS } from './field-controls.ts';
import { GUIDE_CONTROLS } from './guide-controls.ts';
import { OPERATION_CONTROLS } from './operation-controls.ts';
import { OUTPUT_CONTROLS } from './output-controls.ts';
import { CONTROL_ORIGIN, CONTROL_SECRETS } from './planted-faults.ts';
import { PROMISE_CONTROLS } from './promise-controls.ts';
import { QUESTION_CONTROLS } from './question-controls.ts';
import { REQUEST_CONTROLS } from './request-controls.ts';
import { REQUIREMENTS } from './requirements.ts';
import { type RunOptions, runChecks, workThrough } from './run-checks.ts';
import { tryAgentControls, tryClientControls } from './scripted-runs.ts';
import { SLOW_CHECKS } from './slow-checks.ts';
import { SLOW_CONTROLS } from './slow-controls.ts';
import { TRANSITION_CONTROLS } from './transition-controls.ts';

/** All of them, by the requirement whose check must find the fault. */
export const CONTROLS: Readonly<Record<string, Control>> = {
  ...SPECIFICATION_CONTROLS,
  ...TRANSITION_CONTROLS,
  ...GUIDE_CONTROLS,
  ...REQUEST_CONTROLS,
  ...DELIVERY_CONTROLS,
  ...SLOW_CONTROLS,
  ...PROMISE_CONTROLS,
  ...OPERATION_CONTROLS,
  ...OUTPUT_CONTROLS,
  ...QUESTION_CONTROLS,
  ...FIELD_CONTROLS,
};

/** The controls that are tried at the same time. */
const CONTROLS_AT_ONCE = 8;
const LIMIT_MS = 6_000;

/** The checks that found a fault or were kept from looking, by the requirement whose control planted it. */
export type Found = ReadonlyMap<string, readonly string[]>;

/**
 * Tries each control with the checks of its section, of the specification with all of it. Those of a slow
 * check are tried with that check alone, on the simulator: the time that it waits for passes at once.
 */
export async function tryControls(baseUrl: string): Promise<Found> {
  const found = new Map<string, readonly string[]>();
  const tryOne = async ([id, control]: readonly [string, (typeof CONTROLS)[string]]): Promise<void> => {
    const complaints =
      id in SLOW_CHECKS
        ? withSimulator((subject) => findComplaints(subject, control, { only: id, slow: true }))
        : findComplaints({ gatewayUrl: baseUrl }, control, besideOf(id));
    found.set(id, await complaints);
  };
  const all = Object.entries(CONTROLS);
  await workThrough(all, CONTROLS_AT_ONCE, tryOne);
  // On a busy machine a fault may come too late for its check: once more alone.
  await workThrough(
    all.filter(([id]) => !found.get(id)?.includes(id)),
    1,
    tryOne,
  );
  return new Map(Object.keys(CONTROLS).map((id) => [id, found.get(id) ?? []]));
}

type TriedSubject = Pick<RunOptions, 'gatewayUrl' | 'send' | 'clock'>;

/** The steps in which the time of a simulator moves, and how long each takes. */
const STEP_SECONDS = 0.1;
const STEP_MS = 4;

/** A run of the kit on a new simulator, whose time is that of the kit and passes quickly. */
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

/** The checks that a control is tried with. */
function besideOf(id: string): Pick<RunOptions, 'only' | 'level'> {
  const isOfGuide = REQUIREMENTS.find((one) => one.id === id)?.level === 'L1';
  return isOfGuide ? { only: id.slice(0, id.indexOf('.') + 1) } : { level: 'L0' };
}

/** Runs the kit with a fault beside the gateway; throws an error where the kit itself fails. */
export async function findComplaints(
  subject: TriedSubject,
  { plant = (send) => send, plantInPushes }: Pick<Control, 'plant' | 'plantInPushes'> = {},
  asked: Pick<RunOptions, 'only' | 'level' | 'slow'> = {},
): Promise<readonly string[]> {
  const { gateway: auth, admin: adminAuth, push: pushSecrets } = CONTROL_SECRETS;
  const { send = (url, init) => fetch(url, { ...init, redirect: 'manual' }) } = subject;
  const { verdicts } = await runChecks({
    ...subject,
    again: false,
    auth,
    adminAuth,
    pushSecrets,
    seed: 1,
    limitMs: LIMIT_MS,
    origin: CONTROL_ORIGIN,
    send: plant(send),
    ...(plantInPushes && { plantInPushes }),
    ...asked,
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
function renderPage(found: Found, foundInAgents: Found, foundInClients: Found): string {
  return [
    '# The controls of the kit',
    '',
    'A check counts only if it was seen to fail. For each one a fault is planted between the kit and a gateway that',
    'conforms, and the checks of its section are run, of the specification all: the check of that row must find it, at',
    'every change of the kit. Checks that look at the same response may find it too. A check that waits long is run',
    'alone, on the simulator.',
    '',
    ...renderRows(found, CONTROLS),
    '## Of agents',
    '',
    'Here the fault is planted in a small agent that does all that is required of one, or on its wire.',
    '',
    ...renderRows(foundInAgents, AGENT_CONTROLS),
    '## Of clients',
    '',
    'Here it is planted in a small client, or on its wire.',
    '',
    ...renderRows(foundInClients, CLIENT_CONTROLS),
  ].join('\n');
}

/** The settings of a gateway that controls are tried on. */
export const TRIED_SETTINGS = {
  GATEWAY_AUTH: CONTROL_SECRETS.gateway,
  ADMIN_AUTH: CONTROL_SECRETS.admin,
  PUSH_SECRET: CONTROL_SECRETS.push.join(' '),
  CORS_ORIGINS: CONTROL_ORIGIN,
};

if (import.meta.main) {
  const gateway = await startGateway(TRIED_SETTINGS);
  try {
    const found = await tryControls(gateway.baseUrl);
    const page = renderPage(found, await tryAgentControls(true), await tryClientControls(true));
    writeFileSync(new URL('CONTROLS.md', import.meta.url), page);
  } finally {
    await gateway.stop();
  }
}
