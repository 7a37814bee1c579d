/**
 * Parsers for the values of options. All throw the parser's own error, with a text that says what to give
 * instead.
 */
import { InvalidArgumentError } from 'commander';

/** Parses seconds above 0; decimals are allowed. */
export function parseSeconds(text: string): number {
  return parseNumber(text, (value) => value > 0, 'Give seconds above 0, like 30 or 0.5.');
}

/** Parses seconds; 0 and decimals are allowed. */
export function parseSecondsOrZero(text: string): number {
  return parseNumber(text, (value) => value >= 0, 'Give seconds, like 30, 0.5 or 0.');
}

/** Parses a whole number above 0. */
export function parseCount(text: string): number {
  return parseNumber(
    text,
    (value) => Number.isSafeInteger(value) && value > 0,
    'Give a whole number above 0.',
  );
}

/** Parses a whole number; 0 is allowed. */
export function parseIndex(text: string): number {
  return parseNumber(
    text,
    (value) => Number.isSafeInteger(value) && value >= 0,
    'Give a whole number, like 0 or 12.',
  );
}

function parseNumber(text: string, isAllowed: (value: number) => boolean, advice: string): number {
  const value = /^[-+.\d]/.test(text) ? Number(text) : Number.NaN;
  if (Number.isFinite(value) && isAllowed(value)) return value;
  throw new InvalidArgumentError(advice);
}

/** Adds a value to the earlier ones, for an option that may be repeated. */
export function collectValue(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}
