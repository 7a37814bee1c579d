/** Finds variables whose name is almost that of a setting: most likely a typing error without effect. */
import { editDistance } from '../domain/edit-distance.ts';

/**
 * Returns a warning with a suggestion for each such name.
 *
 * @param names the variables of the environment
 * @param settings the variables that the gateway reads
 */
export function findTypos(names: readonly string[], settings: readonly string[]): readonly string[] {
  return names.flatMap((name) => {
    if (settings.includes(name)) return [];
    const similar = settings.find((setting) => isSimilar(name.toUpperCase(), setting));
    return similar === undefined
      ? []
      : [`${name}: is not a setting and has no effect; did you mean ${similar}?`];
  });
}

/**
 * Whether a name has one typing error (two in a long name), or lacks the last word or words of the setting.
 */
function isSimilar(name: string, setting: string): boolean {
  const errorsMax = setting.length < 8 ? 1 : 2;
  if (name.includes('_') && setting.startsWith(`${name}_`)) return true;
  return Math.abs(name.length - setting.length) <= errorsMax && editDistance(name, setting) <= errorsMax;
}
