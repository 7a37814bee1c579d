/** The engines of the suite: where each keeps its data, and how it is opened beside the gateway. */
import { join } from 'node:path';
import { parseRedisAddress } from '../../../server/engines/redis/client/address.ts';
import { openRedisStore } from '../../../server/engines/redis/open.ts';
import { openFileStore } from '../../../server/engines/sqlite/open.ts';
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
      const file = join(folder.path, 'full.db');
      return {
        setting: `sqlite:${file}`,
        serverPid: null,
        open: () => openFileStore(file, { clock: createClock(), log: SILENT }),
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
