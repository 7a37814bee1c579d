/**
 * Schemathesis on the document that a gateway serves: requests that it allows and requests that it does not,
 * and whether each response is one that it names. What is left out stands in `schemathesis_rules.py`.
 */
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { createClient } from '../../sdk/index.ts';
import { makeFolder } from '../harness/folder.ts';
import { ADMIN_SECRET, SECRET, startGateway } from '../harness/gateway-process.ts';
import { VENV_PYTHON } from '../harness/python-tools.ts';

const DOCUMENT = join(import.meta.dirname, '../../generated/openapi/clients-and-agents.3.1.json');
/** The seed may be any whole number. */
const FIXED = '--seed 7 --max-examples 8 --generation-database none --no-shrink --continue-on-failure';
/** They never end, or wait for what does not come. */
const STREAMS = ['subscribeEvents', 'readOutput'];
const LIMIT_MS = 300_000;

const folder = makeFolder();
afterAll(() => folder.remove());

/** Runs it on a document; returns its exit code and what it printed. */
function runSchemathesis(args: readonly string[]): Promise<{ code: number; printed: string }> {
  const env = { PATH: process.env.PATH, PYTHONPATH: import.meta.dirname, PYTHONDONTWRITEBYTECODE: '1' };
  const settings = { ...env, GATEWAY_AUTH: SECRET, SCHEMATHESIS_HOOKS: 'schemathesis_rules' };
  const options = [...FIXED.split(' '), '--generation-with-security-parameters', 'false', '--no-color'];
  const all = ['-m', 'schemathesis.cli', 'run', ...args, ...options];
  return new Promise((resolve) => {
    execFile(VENV_PYTHON, all, { env: settings, cwd: folder.path }, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), printed: stdout + stderr }),
    );
  });
}

describe.concurrent('Schemathesis', { tags: 'python-tools', timeout: LIMIT_MS }, () => {
  test.for([
    ['/openapi.json', 13, STREAMS, `Authorization: Bearer ${SECRET}`],
    ['/openapi.admin.json', 9, [], `X-Admin-Auth: ${ADMIN_SECRET}`],
  ] as const)('finds no fault in %s', async ([path, tested, excluded, secret], { onTestFinished }) => {
    const gateway = await startGateway();
    onTestFinished(async () => void (await gateway.stop()));
    const client = createClient({ baseUrl: gateway.baseUrl, auth: SECRET });
    const agent = { agent_id: 'agent-of-schemathesis', agent_tags: ['schemathesis'], max_concurrent: 1000 };
    await client.registerAgent({ ...agent, endpoint: 'pull' });
    const others = excluded.flatMap((name) => ['--exclude-operation-id', name]);
    const { code, printed } = await runSchemathesis([gateway.baseUrl + path, '--header', secret, ...others]);
    if (code !== 0) console.log(printed);
    expect({ code, tested: / {2}Tested: (\d+)/.exec(printed)?.[1] }).toEqual({
      code: 0,
      tested: `${tested}`,
    });
    const generated = Number(/(\d+) generated/.exec(printed)?.[1]);
    console.log(`figure: schemathesis-cases ${generated}`);
    expect(generated).toBeGreaterThan(100);
  });

  test('finds a response that a document does not name', async ({ onTestFinished }) => {
    const gateway = await startGateway();
    onTestFinished(async () => void (await gateway.stop()));
    const document = JSON.parse(readFileSync(DOCUMENT, 'utf8'));
    document.components.schemas.MatchPreview.properties.hint = { type: 'integer' };
    const file = join(folder.path, 'openapi.json');
    writeFileSync(file, JSON.stringify(document));
    const one = ['--url', gateway.baseUrl, '--include-operation-id', 'previewMatch', '--phases', 'examples'];
    const { code, printed } = await runSchemathesis([file, ...one]);
    expect(code).toBe(1);
    expect(printed).toContain('Response violates schema');
  });
});
