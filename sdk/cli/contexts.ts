/**
 * The configuration file: named contexts, each with the address of a gateway and where its secrets come from.
 * Only its owner can read it. The secrets of a context go to the address of that context and to no other.
 */
import {
  closeSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { TaskGatewayError } from '../errors.ts';
import { decodeText, readSmallFile } from './decoding.ts';
import { CommandError, createUsageError, messageOf } from './exit-codes.ts';
import type { Environment } from './terminal/terminal.ts';

/**
 * A gateway. Each secret has at most one source: the secret itself, the name of a variable, or a command that
 * prints it. `auth_file` can hold both secrets, as with --auth-file.
 */
export type GatewayContext = {
  readonly url: string;
  readonly auth?: string;
  readonly auth_env?: string;
  readonly auth_command?: string;
  readonly admin_auth?: string;
  readonly admin_auth_env?: string;
  readonly admin_auth_command?: string;
  readonly auth_file?: string;
};

/** The content of the file. */
export type ContextFile = {
  /** The context that counts if nothing else names a gateway. */
  readonly current: string | null;
  readonly contexts: Readonly<Record<string, GatewayContext>>;
};

const EMPTY: ContextFile = { current: null, contexts: {} };
const FIELDS: ReadonlySet<string> = new Set([
  ...['url', 'auth', 'auth_env', 'auth_command', 'auth_file'],
  ...['admin_auth', 'admin_auth_env', 'admin_auth_command'],
]);
const FILE_BYTES_MAX = 1_048_576;
/** How long a command waits for another that changes the file, which takes milliseconds. */
const LOCK_MS_MAX = 5_000;
const LOCK_EVERY_MS = 10;
/** People type names, shells complete them, and tables show them. */
const NAME = /^[\p{L}\p{N}][\p{L}\p{N}._-]{0,63}$/u;

/** Returns the file's path: TASK_GATEWAY_CONFIG, or one below the user's folder for configuration. */
export function findContextPath(env: Environment): string | undefined {
  if (env.TASK_GATEWAY_CONFIG) return env.TASK_GATEWAY_CONFIG;
  const base = env.XDG_CONFIG_HOME || env.APPDATA || (env.HOME ? join(env.HOME, '.config') : undefined);
  return base === undefined ? undefined : join(base, 'task-gateway', 'config.json');
}

/** Reads the file; without one there are no contexts. Throws usage errors; their texts contain no secret. */
export function readContexts(env: Environment): ContextFile {
  const path = findContextPath(env);
  const bytes = path === undefined ? undefined : readIfPresent(path);
  if (path === undefined || bytes === undefined) return EMPTY;
  const file = parseFile(decodeText(bytes, `"${path}"`), path);
  const holdsSecret = Object.values(file.contexts).some(({ auth, admin_auth }) => auth ?? admin_auth);
  if (holdsSecret && process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0) {
    throw createUsageError(`"${path}" holds secrets and other users can read it: run chmod 600 "${path}".`);
  }
  return file;
}

function readIfPresent(path: string): Uint8Array | undefined {
  try {
    return readSmallFile(path, FILE_BYTES_MAX, `The configuration file "${path}"`);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw createUsageError(`The configuration file "${path}" can't be read (${code ?? messageOf(error)}).`);
  }
}

function parseFile(text: string, path: string): ContextFile {
  const fail = (what: string): never => {
    throw createUsageError(`The configuration file "${path}" can't be used: ${what}. Correct or remove it.`);
  };
  const isObject = (value: unknown): value is Record<string, unknown> =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's message would quote the file.
    return fail('it is not JSON');
  }
  if (!isObject(value) || !isObject(value.contexts)) return fail('it has no object "contexts"');
  const { current = null, contexts } = value;
  if (current !== null && typeof current !== 'string') return fail('"current" is not a name');
  for (const [name, context] of Object.entries(contexts)) {
    if (!isObject(context) || typeof context.url !== 'string') return fail(`context "${name}" has no "url"`);
    const wrong = Object.entries(context).find(
      ([field, one]) => !FIELDS.has(field) || typeof one !== 'string',
    );
    if (wrong) return fail(`"${wrong[0]}" of context "${name}" is unknown or not a text`);
  }
  return { current, contexts: contexts as Record<string, GatewayContext> };
}

/**
 * Replaces the whole file by what `change` returns for it. Only its owner can read it, or a folder created
 * for it. Commands that do so at the same time wait for each other: the draft beside the file is their lock.
 */
export function changeContexts(env: Environment, change: (before: ContextFile) => ContextFile): void {
  const given = findContextPath(env);
  if (given === undefined) {
    throw createUsageError('There is no HOME: say with TASK_GATEWAY_CONFIG where the configuration file is.');
  }
  const path = resolveLink(given);
  const draft = `${path}.lock`;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const file = openDraft(draft);
    try {
      writeFileSync(file, `${JSON.stringify(change(readContexts(env)), null, 2)}\n`);
      renameSync(draft, path);
    } catch (error) {
      rmSync(draft, { force: true });
      throw error;
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if (error instanceof TaskGatewayError || error instanceof CommandError) throw error;
    throw createUsageError(`The configuration file "${given}" can't be written: ${messageOf(error)}.`);
  }
}

/** Creates the draft, which only one process can do. */
function openDraft(path: string): number {
  for (let waitedMs = 0; ; waitedMs += LOCK_EVERY_MS) {
    try {
      return openSync(path, 'wx', 0o600);
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
      if (waitedMs < LOCK_MS_MAX) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOCK_EVERY_MS);
      else {
        throw createUsageError(
          `Another command has been changing the configuration for ${LOCK_MS_MAX / 1_000} s. If there is none, it crashed: remove "${path}".`,
        );
      }
    }
  }
}

/** Follows a link, so that the file that it names is replaced and the link stays. */
function resolveLink(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** Returns a context by its name. Throws a usage error if there is none. */
export function requireContext({ contexts }: ContextFile, name: string): GatewayContext {
  const context = Object.hasOwn(contexts, name) ? contexts[name] : undefined;
  if (context) return context;
  const names = Object.keys(contexts).join(', ') || 'none';
  throw createUsageError(
    `There is no context "${name}" (there are: ${names}). Create it with "task-gateway config set ${name} --url URL".`,
  );
}

/** Throws a usage error for a name that a context can't have. */
export function requireContextName(name: string): void {
  if (NAME.test(name) && name !== '__proto__') return;
  throw createUsageError(`"${name}" can't be a name: give letters, digits, ".", "_" and "-", at most 64.`);
}
