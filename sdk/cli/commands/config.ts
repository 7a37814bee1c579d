/**
 * `config` with its commands `set`, `use`, `list` and `remove`: the named contexts of the configuration file.
 */
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { createClient } from '../../client.ts';
import { readAuthFile } from '../auth-file.ts';
import { type CommandContext, getOutputFormat } from '../command-context.ts';
import { DEFAULT_AUTH, type GlobalOptions } from '../connection.ts';
import { describeSource, type SecretKind } from '../context-secrets.ts';
import {
  changeContexts,
  type GatewayContext,
  readContexts,
  requireContext,
  requireContextName,
} from '../contexts.ts';
import { createUsageError } from '../exit-codes.ts';
import { renderJson } from '../terminal/output.ts';
import { type Column, renderTable } from '../terminal/table.ts';

type SetOptions = {
  readonly authEnv?: string;
  readonly authCommand?: string;
  readonly adminAuthEnv?: string;
  readonly adminAuthCommand?: string;
};

/** One line of `config list`. It holds no secret. */
type ContextRow = {
  readonly name: string;
  readonly current: boolean;
  readonly url: string;
  readonly auth: string | null;
  readonly admin_auth: string | null;
};

const EXAMPLES = `
A secret can be stored (--auth, --admin-auth), or be taken at each use from a file (--auth-file), a variable or the
first line that a command prints. The file of the contexts is readable by you alone: TASK_GATEWAY_CONFIG, or
task-gateway/config.json below XDG_CONFIG_HOME or ~/.config.

Examples:
  $ task-gateway config set prod --url https://gateway.example --auth-command 'pass show gateway'
  $ task-gateway config set here --url http://127.0.0.1:8080 --auth-env LOCAL_SECRET --admin-auth-env LOCAL_ADMIN
  $ task-gateway config use prod
  $ task-gateway task list --context here`;

export function addConfigCommands(program: Command, context: CommandContext): void {
  const config = program.command('config').summary('name gateways, and choose one of them');
  config.description('Keeps named gateways with their secrets in a file, and chooses the one to call.');
  addConfigSet(config, context);
  addConfigUse(config, context);
  addConfigList(config, context);
  addConfigRemove(config, context);
}

function addConfigSet(parent: Command, { env, terminal }: CommandContext): void {
  parent
    .command('set')
    .summary('create a context, or change it')
    .description('Creates a context, or changes what is given of it. The first one becomes the current one.')
    .argument('<name>', 'name of the context')
    .option('--auth-env <variable>', 'take the gateway secret from this variable at each use')
    .option('--auth-command <command>', 'take the gateway secret from the output of this command at each use')
    .option('--admin-auth-env <variable>', 'take the admin secret from this variable at each use')
    .option(
      '--admin-auth-command <command>',
      'take the admin secret from the output of this command when a command needs it',
    )
    .addHelpText('after', EXAMPLES)
    .action((name: string, options: SetOptions, command: Command) => {
      requireContextName(name);
      let result = '';
      changeContexts(env, (file) => {
        const before = Object.hasOwn(file.contexts, name) ? file.contexts[name] : undefined;
        const changed = changeContext(before, { ...command.optsWithGlobals<GlobalOptions>(), ...options });
        const current = file.current ?? name;
        const which = current === name ? ' It is the current one.' : '';
        result = `${before ? 'Changed' : 'Created'} context ${name}: ${changed.url}.${which}`;
        return { current, contexts: { ...file.contexts, [name]: changed } };
      });
      terminal.log(result);
    });
}

function addConfigUse(parent: Command, { env, terminal }: CommandContext): void {
  parent
    .command('use')
    .summary('make a context the current one')
    .description('Makes a context the one that counts where no option or variable names a gateway.')
    .argument('<name>', 'name of the context')
    .action((name: string) => {
      let url = '';
      changeContexts(env, (file) => {
        ({ url } = requireContext(file, name));
        return { ...file, current: name };
      });
      terminal.log(`The current context is ${name}: ${url}.`);
      if (env.TASK_GATEWAY_CONTEXT || env.TASK_GATEWAY_URL) {
        terminal.log('TASK_GATEWAY_CONTEXT or TASK_GATEWAY_URL is set, and has priority over it.');
      }
    });
}

function addConfigList(parent: Command, context: CommandContext): void {
  const { env, terminal } = context;
  parent
    .command('list')
    .summary('list the contexts')
    .description('Lists the contexts, and where their secrets come from.')
    .action(async (_options: unknown, command: Command) => {
      const { current, contexts } = readContexts(env);
      const rows = Object.entries(contexts).map(([name, one]) => ({
        name,
        current: name === current,
        url: one.url,
        auth: describeSource(one, 'auth') ?? null,
        admin_auth: describeSource(one, 'admin_auth') ?? null,
      }));
      await printRows(context, rows, command);
      if (rows.length === 0) {
        terminal.log('There is no context. Create one with "task-gateway config set NAME --url URL".');
      }
    });
}

function addConfigRemove(parent: Command, { env, terminal }: CommandContext): void {
  parent
    .command('remove')
    .summary('remove a context')
    .description('Removes a context. If it is the current one, there is none afterwards.')
    .argument('<name>', 'name of the context')
    .action((name: string) => {
      changeContexts(env, (file) => {
        requireContext(file, name);
        const { [name]: _removed, ...contexts } = file.contexts;
        return { current: file.current === name ? null : file.current, contexts };
      });
      terminal.log(`Removed context ${name}.`);
    });
}

async function printRows(
  { terminal }: CommandContext,
  rows: readonly ContextRow[],
  command: Command,
): Promise<void> {
  const format = getOutputFormat(command);
  if (format === 'json') return terminal.print(renderJson(rows, format));
  if (format === 'jsonl') return terminal.print(rows.map((row) => renderJson(row, format)).join(''));
  if (rows.length === 0) return;
  const columns: readonly Column<ContextRow>[] = [
    { title: 'NAME', cell: ({ name }) => name },
    { title: 'CURRENT', cell: ({ current }) => (current ? 'yes' : '') },
    { title: 'URL', cell: ({ url }) => url },
    { title: 'AUTH', cell: ({ auth }) => auth ?? '–' },
    { title: 'ADMIN AUTH', cell: ({ admin_auth }) => admin_auth ?? '–' },
  ];
  const paintHead = (text: string): string => terminal.out.paint('bold', text);
  await terminal.print(renderTable(columns, rows, { widthMax: terminal.out.columns, paintHead }));
}

/** Returns the context, changed by the options. Throws usage errors, and the SDK's for a wrong address. */
function changeContext(
  before: GatewayContext | undefined,
  options: SetOptions & GlobalOptions,
): GatewayContext {
  const { url = before?.url, auth, adminAuth, authFile } = options;
  if (url === undefined) throw createUsageError('Give --url: the address of the gateway.');
  createClient({ baseUrl: url, auth: auth ?? DEFAULT_AUTH, adminAuth, logLevel: 'off' });
  if (authFile !== undefined) readAuthFile(authFile, '--auth-file');
  const secret = readSource('auth', { stored: auth, env: options.authEnv, command: options.authCommand });
  const adminSecret = readSource('admin_auth', {
    stored: adminAuth,
    env: options.adminAuthEnv,
    command: options.adminAuthCommand,
  });
  const file = authFile === undefined ? undefined : { auth_file: resolve(authFile) };
  if (file && secret) throw createUsageError('Give --auth-file or another source of the gateway secret.');
  return {
    ...(file ?? secret ?? pickFields(before, ['auth', 'auth_env', 'auth_command', 'auth_file'])),
    ...(adminSecret ?? pickFields(before, ['admin_auth', 'admin_auth_env', 'admin_auth_command'])),
    url,
  };
}

/** The options for where a secret comes from. */
type Source = {
  readonly stored: string | undefined;
  readonly env: string | undefined;
  readonly command: string | undefined;
};

/** Returns the fields for a secret's source; undefined without one. Throws a usage error for several. */
function readSource(kind: SecretKind, { stored, env, command }: Source): Partial<GatewayContext> | undefined {
  const fields = Object.entries({ [kind]: stored, [`${kind}_env`]: env, [`${kind}_command`]: command });
  const given = fields.filter(([, value]) => value !== undefined);
  if (given.length > 1) {
    const name = kind === 'auth' ? 'gateway' : 'admin';
    throw createUsageError(`Give one source of the ${name} secret, not ${given.length}.`);
  }
  return given.length === 0 ? undefined : Object.fromEntries(given);
}

/** Returns those of the fields that a context has. */
function pickFields(
  context: GatewayContext | undefined,
  names: readonly (keyof GatewayContext)[],
): Partial<GatewayContext> {
  const given = names.filter((name) => context?.[name] !== undefined);
  return Object.fromEntries(given.map((name) => [name, context?.[name]]));
}
