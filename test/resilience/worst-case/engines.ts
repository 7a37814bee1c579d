/** The engines of the suite: where each keeps its data, and how it is opened beside the gateway. */
import { join } from 'node:path';
import { openEmbeddedStore } from '../../../server/engines/embedded/open.ts';
import { parseRedisAddress } from '../../../server/engines/redis/client/address.ts';
import { openRedisStore } from '../../../server/engines/redis/open.ts';
import type { Store } from '../../../server/ports/store.ts';
import { createClock } from '../../../server/system/clock.ts';
import { makeFolder } from '../../harness/folder.ts';
import { startRedis } from '../../harness/redis-process.ts';
import { SILENT } from '../../harness/silent-log.ts';

export type Data = {
  /** The gateway's setting `STORE`. */
  readonly setting: string;
  /** The process that computes for the gateway; its CPU counts as the gateway's. */
  readonly serverPid: number | null;
  /** Opens it while no gateway has it. */
  open(): Promise<Store>;
  dispose(): Promise<void>;
};

export type WorstEngine = {
  readonly name: string;
  readonly tags: readonly 'redis'[];
  create(): Promise<Data>;
};

export const WORST_ENGINES: readonly WorstEngine[] = [
  {
    name: 'sqlite',
    tags: [],
    async create() {
      const folder = makeFolder();
      const setting = `sqlite:${join(folder.path, 'full.db')}` as const;
      return {
        setting,
        serverPid: null,
        open: () => openEmbeddedStore({ storage: setting, clock: createClock(), log: SILENT }),
        dispose: async () => folder.remove(),
      };
    },
  },
  {
    name: 'redis',
    tags: ['redis'],
    async create() {
      const redis = await startRedis(['--auto-aof-rewrite-percentage', '0']);
      const address = parseRedisAddress(redis.url);
      if ('mistake' in address) throw new Error(address.mistake);
      return {
        setting: redis.url,
        serverPid: redis.pid(),
        open: () => openRedisStore({ address, durability: 'disk', clock: createClock(), log: SILENT }),
        dispose: () => redis.dispose(),
      };
    },
  },
];
