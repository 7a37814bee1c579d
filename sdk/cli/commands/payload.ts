/** A payload as it is typed: `key=text`, `key:=json`, `@file` and `-`, in any mixture. */
import { readFile } from 'node:fs/promises';
import { decodeText } from '../encoding.ts';
import { createUsageError } from '../exit-codes.ts';
import { parseJson } from '../json.ts';

/** Where the parts come from. */
export type PayloadSources = {
  readFile(path: string): Promise<Uint8Array>;
  readStdin(): Promise<Uint8Array>;
};

type Field = readonly [key: string, value: unknown];

/**
 * Reads a payload. Files and standard input give whole objects; pairs are laid over them, wherever they stand. Without
 * parts it is `{}`. Throws usage errors.
 */
export async function readPayload(
  parts: readonly string[],
  sources: PayloadSources,
): Promise<Record<string, unknown>> {
  if (parts.filter((part) => part === '-').length > 1) {
    throw createUsageError('Standard input ("-") can be read once only.');
  }
  const fields: Field[] = [];
  const pairs = new Map<string, unknown>();
  for (const part of parts) {
    if (part === '-') fields.push(...readObject(await sources.readStdin(), 'standard input'));
    else if (part.startsWith('@')) fields.push(...(await readObjectFile(part.slice(1), sources)));
    else {
      const [key, value] = readPair(part);
      if (pairs.has(key)) throw createUsageError(`"${key}" is given twice.`);
      pairs.set(key, value);
    }
  }
  return Object.fromEntries([...fields, ...pairs]);
}

/** A part that is neither `@file` nor `-`. */
function readPair(part: string): Field {
  const [, key, operator, text = ''] = /^([^=]*?)(:?=)(.*)$/s.exec(part) ?? [];
  if (!key) {
    throw createUsageError(`"${part}" is no part of a payload: give key=text, key:=json, @file or "-".`);
  }
  return [key, operator === ':=' ? readJson(text, `the value of "${key}"`) : text];
}

async function readObjectFile(path: string, sources: PayloadSources): Promise<readonly Field[]> {
  const bytes = await sources.readFile(path).catch((error: NodeJS.ErrnoException) => {
    const why = error.code === 'ENOENT' ? 'there is no such file' : (error.code ?? error.message);
    throw createUsageError(`"${path}" can't be read: ${why}.`);
  });
  return readObject(bytes, `"${path}"`);
}

function readObject(bytes: Uint8Array, source: string): readonly Field[] {
  const text = decodeText(bytes, source);
  if (text.trim() === '') throw createUsageError(`Nothing is in ${source}: a payload is a JSON object.`);
  const value = readJson(text, source);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw createUsageError(`A payload is a JSON object, and in ${source} is ${describeKind(value)}.`);
  }
  return Object.entries(value);
}

function readJson(text: string, source: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    throw createUsageError(
      `JSON in ${source} can't be used: ${error instanceof Error ? error.message : error}.`,
    );
  }
}

function describeKind(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'an array' : `a ${typeof value}`;
}

/** The sources of a real command. Says so when it waits for a person to type. */
export function createSources(
  stdin: AsyncIterable<Uint8Array> & { readonly isTTY?: boolean },
  say: (text: string) => void,
): PayloadSources {
  return {
    readFile: (path) => readFile(path),
    async readStdin() {
      if (stdin.isTTY) say('Type the payload as JSON and end it with Ctrl-D.');
      const chunks: Uint8Array[] = [];
      for await (const chunk of stdin) chunks.push(chunk);
      return Buffer.concat(chunks);
    },
  };
}
