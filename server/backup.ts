/**
 * `npm run backup -- FILE`: copies the database of a gateway to a new file, and checks the copy. The gateway
 * may run meanwhile. `STORE` or `STORE_FILE` names the database, as for the gateway. Only the owner can read
 * the copy. OPERATING.md says how to restore it.
 */
import { resolve } from 'node:path';
import { messageOf } from './async/error-message.ts';
import { BACKUP_COMMAND } from './commands.ts';
import { readStore } from './config/config.ts';
import { copyDatabase } from './engines/sqlite/backup.ts';

process.umask(0o077);
try {
  const [file, ...more] = process.argv.slice(2);
  const option = process.argv.slice(2).find((word) => word.startsWith('-'));
  if (file === undefined || option !== undefined || more.length > 0) {
    const unknown = option === undefined ? '' : `Unknown option '${option}'. `;
    throw new Error(`${unknown}It takes one file, which must not exist yet: ${BACKUP_COMMAND.usage}`);
  }
  const store = readStore(process.env);
  if (store.kind !== 'sqlite') {
    throw new Error('It copies the database of STORE=sqlite:FILE alone; a Redis has its own backups.');
  }
  // npm runs a script in the folder of its package, and puts the caller's folder into `INIT_CWD`.
  const copy = resolve(process.env.INIT_CWD ?? '.', file);
  const database = resolve(store.file);
  const { bytes, openTasks, agents } = copyDatabase(database, copy);
  console.log(
    `${copy}: a copy of ${database}, ${bytes} bytes, checked: ${openTasks} open tasks, ${agents} agents`,
  );
} catch (error) {
  console.error(`${BACKUP_COMMAND.name}: Nothing was copied. ${messageOf(error)}`);
  process.exitCode = 1;
}
