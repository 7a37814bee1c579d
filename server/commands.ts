/** How a person calls the programs of the server: in a checkout by npm's scripts, else by the package. */

const isCheckout = import.meta.url.endsWith('.ts');

/** Starts the gateway. */
export const START_COMMAND = isCheckout ? 'npm start' : 'npx @task-gateway/server';
/** Copies the database, and how the file to copy it to stands behind it. */
export const BACKUP_COMMAND = isCheckout
  ? { name: 'npm run backup', usage: 'npm run backup -- FILE' }
  : { name: 'npx @task-gateway/server backup', usage: 'npx @task-gateway/server backup FILE' };
