/** Pushers and agents for one test: each is closed when the test ends. */
import { onTestFinished } from 'vitest';
import { createPusher, type PreparedPusher, type PusherDeps } from '../../server/push/pusher.ts';
import { createClock } from '../../server/system/clock.ts';
import { SILENT } from '../harness/silent-log.ts';
import { type AgentSettings, type Script, type ScriptedAgent, startAgent } from './scripted-agent.ts';

/** Opens a pusher on the real clock that is closed when the test ends. */
export function openPusher(deps: Partial<PusherDeps> = {}): PreparedPusher {
  const clock = createClock();
  const pusher = createPusher({
    clock,
    wallMs: () => 1_700_000_000_123,
    log: SILENT,
    secrets: [],
    allow: [],
    deny: [],
    ...deps,
  });
  onTestFinished(() => pusher.close());
  return pusher;
}

/** Starts an agent that is closed when the test ends. */
export async function openAgent(script: Script, settings?: AgentSettings): Promise<ScriptedAgent> {
  const agent = await startAgent(script, settings);
  onTestFinished(() => agent.close());
  return agent;
}
