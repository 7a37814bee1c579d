/**
 * The commands by which a person calls the server's programs: npm scripts in a checkout, else the package.
 */

const isCheckout = import.meta.url.endsWith('.ts');

export const START_COMMAND = isCheckout ? 'npm start' : 'npx @task-gateway/server';
/** The command that copies the database, and its usage with the name of the new file. */
export const BACKUP_COMMAND = isCheckout
  ? { name: 'npm run backup', usage: 'npm run backup -- FILE' }
  : { name: 'npx @task-gateway/server backup', usage: 'npx @task-gateway/server backup FILE' };
