/**
 * The gateway's process is stopped and continued, as on a machine that sleeps: the pause costs no agent and
 * no task.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { get, getAdmin, post, submit, subscribe } from '../e2e/plain-calls.ts';
import { printFigure } from '../harness/figures.ts';
import { SECRET, startGateway } from '../harness/gateway-process.ts';
import { MACHINE_SLACK_MS } from '../harness/slack.ts';
import { startBeating } from './beating-agents.ts';

/** For what happens soon, with slack for a machine that has other work. */
const WAIT = { timeout: 60_000, interval: 20 };
/** How long the process is stopped; `STOP_SECONDS` changes it. */
const STOP_S = Number(process.env.STOP_SECONDS ?? 20);
/** Time without contact after which the agents' tasks fail as lost: shorter than the stop. */
const LOST_AFTER_S = STOP_S / 2;
const SHORT_S = STOP_S / 2;
const LONG_S = STOP_S + 8;
const AGENTS = 4;
/** What is late ends as soon as the process runs again. */
const LATE_WITHIN_MS = 3_500 + MACHINE_SLACK_MS;

test(`stopped for ${STOP_S} s and continued: no task ends early, overdue ones end at once, no agent is lost, streams go on`, {
  timeout: 240_000 + STOP_S * 2_000,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'task-gateway-stop-'));
  const gateway = await startGateway({ STORE: `sqlite:${folder}/gateway.db` });
  const { baseUrl, pid } = gateway;
  const beating: (() => void)[] = [];
  try {
    for (let n = 0; n < AGENTS; n += 1) {
      beating.push(await startBeating(baseUrl, `agent-${n}`, { lost_after: LOST_AFTER_S }));
    }
    const stream = await subscribe(baseUrl, 'stop');
    const send = (timeout: number) => submit(baseUrl, { cli_session_id: 'stop', timeout });
    const short = await Promise.all([SHORT_S, SHORT_S + 1].map(send));
    const long = await Promise.all([LONG_S, LONG_S + 0.5].map(send));
    const open = await Promise.all([600, 600, 600, 600].map(send));
    const statusOf = async (id: string) => (await get(baseUrl, `/api/cli/tasks/${id}`)).body.status;
    await vi.waitFor(async () => {
      for (const id of [...short, ...long, ...open]) expect(await statusOf(id)).toBe('running');
    }, WAIT);

    process.kill(pid, 'SIGSTOP');
    // Real time must pass here. The agents keep sending heartbeats to a process that does not respond.
    await new Promise((resolve) => setTimeout(resolve, STOP_S * 1_000));
    const inFlight = submit(baseUrl, { cli_session_id: 'stop', timeout: 600 }).catch(() => undefined);
    process.kill(pid, 'SIGCONT');
    const continuedMs = performance.now();

    await vi.waitFor(() => expect(stream.events).toHaveLength(short.length), {
      timeout: LATE_WITHIN_MS,
      interval: 20,
    });
    const lateMs = performance.now() - continuedMs;
    expect(lateMs).toBeLessThan(LATE_WITHIN_MS);
    expect(new Set(stream.events.map(({ data }) => data.request_id))).toEqual(new Set(short));
    expect(new Set(stream.events.map(({ data }) => data.error_info))).toEqual(new Set(['timeout']));
    for (const id of [...long, ...open]) expect(await statusOf(id)).toBe('running');
    await inFlight;
    const { status } = await post(baseUrl, '/api/agent/heartbeat', { auth: SECRET, agent_id: 'agent-0' });
    expect(status).toBe(200);

    await vi.waitFor(() => expect(stream.events).toHaveLength(short.length + long.length), {
      timeout: 60_000,
    });
    for (const id of long) {
      const { body } = await get(baseUrl, `/api/cli/tasks/${id}`);
      expect(body).toMatchObject({ status: 'failed', error_info: 'timeout' });
    }
    expect(stream.isOver()).toBe(false);
    const { body } = await getAdmin(baseUrl, '/api/admin/agents');
    const agents = body.agents as readonly { readonly state: string }[];
    expect(agents.map(({ state }) => state)).not.toContain('offline');
    for (const id of open) expect(await statusOf(id)).toBe('running');
    stream.leave();
    printFigure('stopped:late-tasks-ended-after', Math.round(lateMs), 'ms');
  } finally {
    for (const stop of beating) stop();
    process.kill(pid, 'SIGCONT');
    await gateway.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
