/**
 * The process from its start to its end. It reads the settings, starts the gateway, prints where that
 * listens, and stops it on SIGTERM or SIGINT. If settings are wrong, it prints all mistakes and starts
 * nothing.
 */
import { isatty } from 'node:tty';
import closeWithGrace from 'close-with-grace';
import { START_COMMAND } from './commands.ts';
import { composeGateway } from './compose.ts';
import { type Config, readConfig } from './config/config.ts';
import { SETTINGS_PAGE, settingNames } from './config/settings.ts';
import type { HttpLimits } from './http/http.ts';
import { describeStartFailure } from './start-failure.ts';
import { buildStartupMessage } from './startup-message.ts';
import { createLog, FLUSH_MS, type RunningLog } from './system/log.ts';

/**
 * Starts the gateway with the settings of an environment, or ends the process. `words` stand behind the
 * command, where nothing should stand. Only tests set `limits`.
 */
export async function startProcess(
  env: NodeJS.ProcessEnv,
  words: readonly string[],
  limits: Partial<HttpLimits> = {},
): Promise<void> {
  const options = [...words, ...findSwallowed(env)];
  if (options.length > 0) {
    console.error(`The gateway was not started. ${explainOptions(options)}`);
    process.exit(1);
  }
  const result = readConfig(env);
  if (!result.ok) {
    console.error(`The gateway was not started. Mistakes in the settings: ${result.mistakes.length}`);
    for (const mistake of result.mistakes) console.error(`  ${mistake}`);
    process.exit(1);
  }

  const { config, warnings } = result;
  const log = createLog({ level: config.logLevel, secrets: config.secrets });
  for (const warning of warnings) log.warn({}, warning);
  try {
    await startGateway(config, log, env.GATEWAY_AUTH_FILE, limits);
  } catch (error) {
    await log.flush();
    console.error(`The gateway was not started. ${describeStartFailure(error, config)}`);
    process.exit(1);
  }
}

/** Finds options that npm took for itself: npm passes an option before `--` on only as a variable. */
function findSwallowed(env: NodeJS.ProcessEnv): readonly string[] {
  const swallowed = settingNames().filter((name) => env[`npm_config_${name.toLowerCase()}`] !== undefined);
  return swallowed.map(optionOf);
}

/** Writes a setting as the option that a person might expect. */
function optionOf(name: string): string {
  return `--${name.toLowerCase().replaceAll('_', '-')}`;
}

/** Repeats only the name of an option, because its value may be a secret. */
function explainOptions(words: readonly string[]): string {
  const [name = ''] = words.filter((word) => word.startsWith('--')).map((word) => word.replace(/=.*/s, ''));
  const setting = settingNames().find((one) => optionOf(one) === name);
  const example = setting === undefined ? 'PORT=9000' : `${setting}=…`;
  return (
    `It takes no options${name === '' ? '' : `, such as ${name}`}: its settings are variables of the environment ` +
    `(${example} ${START_COMMAND}), which ${SETTINGS_PAGE} lists.`
  );
}

/** The first of these signals stops the gateway; a second one ends the process at once. */
const STOP_SIGNALS = ['SIGINT', 'SIGTERM'] as const;
/** Without a terminal, SIGHUP is ignored, as `nohup` asks. Node resets what `nohup` set. */
const IGNORED_SIGNALS = [0, 1, 2].some((one) => isatty(one)) ? [] : (['SIGHUP'] as const);
/**
 * Within this time a second signal is the same Ctrl-C: the terminal signals all processes, and npm passes it
 * on.
 */
const SAME_PRESS_MS = 2_000;

async function startGateway(
  config: Config,
  log: RunningLog,
  secretFile: string | undefined,
  limits: Partial<HttpLimits>,
): Promise<void> {
  for (const signal of IGNORED_SIGNALS) process.on(signal, () => undefined);
  const running = await composeGateway(config, log, limits);
  let asked: { readonly signal: string; readonly atMs: number } | undefined;
  const options = {
    delay: config.drainMs + config.shutdownMs + FLUSH_MS + 1_000,
    logger: false as const,
    skip: [...STOP_SIGNALS, ...IGNORED_SIGNALS],
  };
  // Set before the address is printed: a reader of the address may stop the gateway at once.
  const grace = closeWithGrace(options, async ({ signal = asked?.signal, err }) => {
    asked ??= { signal: `${signal}`, atMs: performance.now() };
    if (err) log.error({ err }, 'the gateway stops because of an unexpected error');
    else {
      log.info({ signal }, 'shutting down');
      await running.drain();
    }
    await running.stop();
    log.info({}, 'stopped');
    await log.flush();
  });
  for (const signal of STOP_SIGNALS)
    process.on(signal, () => {
      if (asked === undefined) {
        asked = { signal, atMs: performance.now() };
        grace.close();
      } else if (performance.now() - asked.atMs > SAME_PRESS_MS) process.exit(1);
    });
  const message = buildStartupMessage(config, running.address, new Date(), secretFile);
  if (process.stdout.isTTY) log.writeText(message.terminalText);
  else {
    log.info(message.logFields, 'listening');
    // Written without the log, whose redactor would remove the secret.
    if (message.adminSecretLine !== null) log.writeText(`${message.adminSecretLine}\n`);
  }
}
