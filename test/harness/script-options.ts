/**
 * The options of this repository's npm scripts, as data. A script refuses any other option, and says what it
 * takes. It also refuses an option that npm has kept for itself, because no `--` stood before it.
 */
import { parseArgs } from 'node:util';

/** One option. `value` names its argument; a `NUMBER` is checked. */
type ScriptOption =
  | { readonly type: 'boolean'; readonly default?: boolean }
  | {
      readonly type: 'string';
      readonly value: string;
      readonly default?: string | string[];
      readonly multiple?: boolean;
    };

type ScriptOptions = Readonly<Record<string, ScriptOption>>;

/**
 * Reads the options of a script, such as `npm run mock`. If one is not the script's, prints why and ends the
 * process. Options without a default may be undefined.
 */
export function readScriptOptions<const O extends ScriptOptions>(script: string, options: O) {
  try {
    refuseSwallowed(options);
    const { values } = parseArgs({ options, strict: true, allowPositionals: false });
    refuseWrongNumbers(options, values);
    return values;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return refuseOptions(script, error.message, describeOptions(script, options));
  }
}

/** Prints what a script was given wrongly and what it takes, and ends the process. */
export function refuseOptions(script: string, mistake: string, takes: string): never {
  // Drops what Node adds to its sentence, which is of no use here.
  console.error(`${script}: ${mistake.replace(/\. To specify.*/s, '').replace(/\.?$/, '.')} ${takes}`);
  process.exit(1);
}

function describeOptions(script: string, options: ScriptOptions): string {
  const taken = Object.entries(options).map(
    ([name, option]) => `[--${name}${option.type === 'string' ? ` ${option.value}` : ''}]`,
  );
  return taken.length === 0 ? 'It takes no options.' : `It takes: ${script} -- ${taken.join(' ')}`;
}

/** npm keeps an option that stands before `--`, and gives it to the script only as a variable. */
function refuseSwallowed(options: ScriptOptions): void {
  const name = Object.keys(options).find((one) => process.env[`npm_config_${one}`] !== undefined);
  if (name !== undefined) throw new TypeError(`Write "--" before --${name}, or npm keeps it for itself`);
}

function refuseWrongNumbers(options: ScriptOptions, values: Readonly<Record<string, unknown>>): void {
  for (const [name, option] of Object.entries(options)) {
    if (option.type !== 'string' || option.value !== 'NUMBER' || values[name] === undefined) continue;
    if (!/^\d+(\.\d+)?$/.test(String(values[name])))
      throw new TypeError(`--${name} is "${String(values[name])}" and must be a number`);
  }
}
