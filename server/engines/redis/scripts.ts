/**
 * The scripts that run in Redis, whole as they are sent: each is its own file behind the parts it leans on. What a
 * script does happens in one go, and its effects go to the disk and to the replicas of Redis as one.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RedisClient, Reply } from './client.ts';

export type Script = {
  readonly name: string;
  readonly text: string;
  /** Whether it may change something: Redis refuses it where it takes no writes. */
  readonly writes: boolean;
  /** By which Redis knows it once it was loaded. */
  readonly sha: string;
};

/** `no-writes`: answered also when Redis is full. `allow-oom`: what makes room must not want room first. */
type Flag = 'no-writes' | 'allow-oom' | null;

function readScript(name: string, flag: Flag, parts: readonly string[] = ['prelude']): Script {
  const files = [...parts, name].map((part) => join(import.meta.dirname, 'scripts', `${part}.lua`));
  const first = flag === null ? '#!lua' : `#!lua flags=${flag}`;
  const text = [first, ...files.map((file) => readFileSync(file, 'utf8'))].join('\n');
  const writes = flag === null;
  return { name, text, writes, sha: createHash('sha1').update(text).digest('hex') };
}

export const scripts = {
  open: readScript('open', null, []),
  get: readScript('get', 'no-writes'),
  agentStatus: readScript('agent_status', 'no-writes', ['prelude', 'agents']),
  changes: readScript('changes', 'no-writes', ['prelude', 'agents']),
  list: readScript('list', 'no-writes', ['prelude', 'agents']),
  feed: readScript('feed', 'no-writes'),
  commit: readScript('commit', null, ['prelude', 'agents', 'tasks', 'preconditions', 'apply']),
  due: readScript('due', null),
  keep: readScript('keep', null),
  touch: readScript('touch', null, ['prelude', 'agents']),
  trim: readScript('trim', 'allow-oom', ['prelude', 'tasks']),
} as const satisfies Readonly<Record<string, Script>>;

/** Runs a script by its name; where Redis has lost it, by its text. */
export async function runScript(
  client: RedisClient,
  script: Script,
  args: readonly string[],
): Promise<Reply> {
  try {
    return await client.send(['EVALSHA', script.sha, ...args]);
  } catch (error) {
    if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
    return await client.send(['EVAL', script.text, ...args]);
  }
}

/** Makes all scripts known to Redis. */
export async function loadScripts(client: RedisClient): Promise<void> {
  await Promise.all(Object.values(scripts).map(({ text }) => client.send(['SCRIPT', 'LOAD', text])));
}
