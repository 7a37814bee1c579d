/** Gets the secrets of a context: as stored, from a variable, from a file or from a command. */
import { spawnSync } from 'node:child_process';
import { type AuthFile, readAuthFile } from './auth-file.ts';
import type { GatewayContext } from './contexts.ts';
import { createUsageError } from './exit-codes.ts';
import type { Environment } from './terminal/terminal.ts';

/** The gateway's secret, or the administrator's. */
export type SecretKind = 'auth' | 'admin_auth';

/** The command may ask a person for a passphrase. */
const COMMAND_TIMEOUT_MS = 120_000;

/** Returns the variables that hold secrets of these contexts. */
export function listSecretNames(contexts: readonly GatewayContext[]): readonly string[] {
  return contexts.flatMap(({ auth_env, admin_auth_env }) =>
    [auth_env, admin_auth_env].filter((name) => name !== undefined),
  );
}

/** Says where a secret of a context comes from, without the secret; undefined if the context has none. */
export function describeSource(context: GatewayContext, kind: SecretKind): string | undefined {
  const variable = context[`${kind}_env`];
  const command = context[`${kind}_command`];
  if (context[kind] !== undefined) return 'stored';
  if (variable !== undefined) return `variable ${variable}`;
  if (command !== undefined) return `command ${command}`;
  return context.auth_file === undefined ? undefined : `file ${context.auth_file}`;
}

/**
 * Returns a secret of a context; undefined if the context has none. Throws usage errors; their texts contain
 * no secret.
 */
export function readContextSecret(
  name: string,
  context: GatewayContext,
  kind: SecretKind,
  env: Environment,
): string | undefined {
  const variable = context[`${kind}_env`];
  const command = context[`${kind}_command`];
  if (context[kind] !== undefined) return context[kind];
  if (variable !== undefined) return readVariable(name, variable, env);
  if (command !== undefined) return runSecretCommand(name, command, env);
  if (context.auth_file === undefined) return undefined;
  const file: AuthFile = readAuthFile(context.auth_file, `The auth_file of context "${name}"`);
  return kind === 'auth' ? file.auth : file.adminAuth;
}

function readVariable(name: string, variable: string, env: Environment): string {
  const value = env[variable];
  if (value) return value;
  throw createUsageError(`Context "${name}" takes a secret from ${variable}, which is not set.`);
}

/** Returns the first line that the command prints. The command may use the terminal. */
function runSecretCommand(name: string, command: string, env: Environment): string {
  const { status, stdout, error } = spawnSync('/bin/sh', ['-c', command], {
    env: { ...env },
    stdio: ['inherit', 'pipe', 'inherit'],
    encoding: 'utf8',
    timeout: COMMAND_TIMEOUT_MS,
  });
  const [line = ''] = (stdout ?? '').split(/\r?\n/);
  if (status === 0 && line !== '') return line;
  const why = error?.message ?? (status === 0 ? 'it printed nothing' : `it ended with exit code ${status}`);
  throw createUsageError(`Context "${name}" takes a secret from a command, which failed: ${why}.`);
}
