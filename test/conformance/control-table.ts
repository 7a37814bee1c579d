/**
 * Run as a program, `node test/conformance/control-table.ts` searches for controls that are missing. It
 * writes `controls.json`, which the tests read, and `CONTROLS.md`, the table of checks and controls.
 */
import { writeFileSync } from 'node:fs';
import { startGateway } from '../harness/gateway-process.ts';
import { AGENT_CONTROLS } from './agent-controls.ts';
import { CLIENT_CONTROLS } from './client-controls.ts';
import { CONTROLS, type Controls, searchControls, TRIED_SETTINGS } from './fault-search.ts';
import { tryAgentControls, tryClientControls } from './scripted-runs.ts';

/** The checks that found a fault or were kept from looking, by the requirement whose control planted it. */
export type Found = ReadonlyMap<string, readonly string[]>;

type Faults = Readonly<Record<string, { readonly fault: string }>>;

function renderRows(found: Found, faults: Faults): readonly string[] {
  const rows = [...found].map(([id, ids]) => {
    const others = ids.filter((one) => one !== id).map((one) => `\`${one}\``);
    return `| \`${id}\` | ${faults[id]?.fault} | ${others.join(', ')} |`;
  });
  return ['| Requirement | The fault that is planted | Also found by |', '|---|---|---|', ...rows, ''];
}

function renderGatewayRows(controls: Controls): readonly string[] {
  const rows = Object.entries(controls).map(
    ([id, [control, ...others]]) => `| \`${id}\` | \`${control}\` | ${others.length || ''} |`,
  );
  return ['| Requirement | The fault that is planted | Others |', '|---|---|---|', ...rows, ''];
}

/** Renders the tables in Markdown. */
function renderPage(controls: Controls, foundInAgents: Found, foundInClients: Found): string {
  return [
    '# The controls of the kit',
    '',
    'A check counts only if it was seen to fail. For each one a fault is planted on the wire between the kit and a',
    'gateway that conforms, and that check is run alone: it must find the fault, at every change of the kit. The faults',
    'are made from the published document. The last column counts the others that the check is remembered to find, so',
    'that the documented fields, statuses, headers and frames are guarded.',
    '',
    ...renderGatewayRows(controls),
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

if (import.meta.main) {
  const gateway = await startGateway(TRIED_SETTINGS);
  try {
    const controls = await searchControls(gateway.baseUrl, CONTROLS);
    writeFileSync(new URL('controls.json', import.meta.url), `${JSON.stringify(controls, null, 2)}\n`);
    const page = renderPage(controls, await tryAgentControls(true), await tryClientControls(true));
    writeFileSync(new URL('CONTROLS.md', import.meta.url), page);
  } finally {
    await gateway.stop();
  }
}
