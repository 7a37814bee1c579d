/**
 * The server's one entry: reads the settings, starts the gateway, says where it is, and ends it on SIGTERM or SIGINT.
 * Settings that cannot be used are told all at once, and nothing is started.
 */
import { setTimeout } from 'node:timers/promises';
import closeWithGrace from 'close-with-grace';
import { composeGateway } from './compose.ts';
import { readConfig } from './config/config.ts';
import { describeStart } from './startup-message.ts';
import { createLog } from './system/log.ts';

/** For the last lines of the log to leave, or to fail to. */
const LAST_LINES_MS = 50;

const answer = readConfig(process.env);
if (!answer.ok) {
  console.error(`The gateway was not started. ${answer.mistakes.length} to mend:`);
  for (const mistake of answer.mistakes) console.error(`  ${mistake}`);
  process.exit(1);
}

const { config, warnings } = answer;
const log = createLog({ level: config.logLevel, secrets: config.secrets });
for (const warning of warnings) log.warn({}, warning);

try {
  const running = await composeGateway(config, log);
  // Before it is told where it listens: whoever reads that may end it at once.
  closeWithGrace({ delay: config.shutdownMs + 1_000, logger: false }, async ({ signal, err }) => {
    if (err) log.error({ err }, 'the gateway ends because of a fault');
    else log.info({ signal }, 'shutting down');
    await running.stop();
    log.info({}, 'stopped');
    // Lines are written in the background, and that is where it shows when nobody reads them any more. Flushing at
    // once would try a broken pipe again and again for ever.
    await setTimeout(LAST_LINES_MS);
    log.flush();
  });
  const told = describeStart(config, running.address);
  if (process.stdout.isTTY) process.stdout.write(told.forPeople);
  else {
    log.info(told.facts, 'listening');
    log.flush();
    // Not through the log, whose redactor would hide it: it is told once, to whoever started the gateway.
    if (told.adminSecret !== null) process.stdout.write(`${told.adminSecret}\n`);
  }
} catch (error) {
  console.error(`The gateway was not started. ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
}
