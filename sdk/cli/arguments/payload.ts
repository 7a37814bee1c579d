/**
 * Reads a payload from arguments: `key=text`, `key:=json`, `{"key":"text"}`, `@file` and `-` (standard
 * input), in any combination.
 */
import { readFile } from 'node:fs/promises';
import type { Stdin } from '../command-context.ts';
import { decodeText, parseJson } from '../decoding.ts';
import { createUsageError, messageOf } from '../exit-codes.ts';

/** How files and standard input are read. */
export type PayloadSources = {
  readFile(path: string): Promise<Uint8Array>;
  readStdin(): Promise<Uint8Array>;
};

type Field = readonly [key: string, value: unknown];

/**
 * Builds a payload. Files, standard input and what begins with `{` are whole objects; `key=` and `key:=`
 * override their fields, wherever they stand. Without arguments the payload is `{}`. Throws usage errors.
 */
export async function readPayload(
  parts: readonly string[],
  sources: PayloadSources,
): Promise<Record<string, unknown>> {
  if (parts.filter((part) => part === '-').length > 1) {
    throw createUsageError('Standard input ("-") can be read only once.');
  }
  const fields: Field[] = [];
  const pairs = new Map<string, unknown>();
  for (const part of parts) {
    if (part === '-') fields.push(...readObject(await sources.readStdin(), 'standard input'));
    else if (part.startsWith('@')) fields.push(...(await readObjectFile(part.slice(1), sources)));
    else if (part.startsWith('{')) fields.push(...readObject(Buffer.from(part), 'the argument'));
    else {
      const [key, value] = parsePair(part);
      if (pairs.has(key)) throw createUsageError(`The key "${key}" is given twice.`);
      pairs.set(key, value);
    }
  }
  return Object.fromEntries([...fields, ...pairs]);
}

function parsePair(part: string): Field {
  const [, key, operator, text = ''] = /^([^=]*?)(:?=)(.*)$/s.exec(part) ?? [];
  if (!key) {
    throw createUsageError(
      `"${part}" is not part of a payload: give key=text, key:=json, {…}, @file or "-".`,
    );
  }
  return [key, operator === ':=' ? readJson(text, `the value of "${key}"`) : text];
}

async function readObjectFile(path: string, sources: PayloadSources): Promise<readonly Field[]> {
  const bytes = await sources.readFile(path).catch((error: NodeJS.ErrnoException) => {
    const reason = error.code === 'ENOENT' ? 'there is no such file' : (error.code ?? error.message);
    throw createUsageError(`"${path}" can't be read: ${reason}.`);
  });
  return readObject(bytes, `"${path}"`);
}

function readObject(bytes: Uint8Array, source: string): readonly Field[] {
  const text = decodeText(bytes, source);
  if (text.trim() === '') throw createUsageError(`The payload in ${source} is empty: give a JSON object.`);
  const value = readJson(text, source);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw createUsageError(`The payload in ${source} is ${describeKind(value)}: give a JSON object.`);
  }
  return Object.entries(value);
}

function readJson(text: string, source: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    throw createUsageError(`The JSON in ${source} can't be used: ${messageOf(error)}.`);
  }
}

function describeKind(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'an array' : `a ${typeof value}`;
}

/** Creates the sources of a real command. If a person must type the payload, `log` gets a prompt. */
export function createSources(stdin: Stdin, log: (line: string) => void): PayloadSources {
  return {
    readFile: (path) => readFile(path),
    async readStdin() {
      if (stdin.isTTY) log('Type the payload as JSON, then press Ctrl-D.');
      const chunks: Uint8Array[] = [];
      for await (const chunk of stdin) chunks.push(chunk);
      return Buffer.concat(chunks);
    },
  };
}
