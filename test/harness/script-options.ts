/**
 * The options of the npm scripts of this repository, as data. A script refuses what it does not take, with a
 * sentence that says what it takes; also where npm has kept an option for itself, because no `--` stood
 * before it.
 */
import { parseArgs } from 'node:util';

/** One option; `value` names what follows it, and `NUMBER` is checked. */
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
 * Reads the options of a script, such as `npm run mock`. Where they are not all its own, it prints why and
 * ends the process. Those without a default may be undefined.
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
  // What Node adds to its sentence is of no use here.
  console.error(`${script}: ${mistake.replace(/\. To specify.*/s, '').replace(/\.?$/, '.')} ${takes}`);
  process.exit(1);
}

function describeOptions(script: string, options: ScriptOptions): string {
  const taken = Object.entries(options).map(
    ([name, option]) => `[--${name}${option.type === 'string' ? ` ${option.value}` : ''}]`,
  );
  return taken.length === 0 ? 'It takes no options.' : `It takes: ${script} -- ${taken.join(' ')}`;
}

/** npm keeps an option that stands before `--`, and gives it to the script as a variable alone. */
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
