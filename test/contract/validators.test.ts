/**
 * Validators that users bring accept every published document, and refuse a broken one.
 * @module-tag generators
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FOREIGN_MODULES } from '../harness/tools.ts';

const openapi = join(import.meta.dirname, '../../generated/openapi');
const { resolve } = createRequire(join(FOREIGN_MODULES, 'any.js'));

/** Each resolves to what is wrong with a document, empty if nothing is. */
const validators: Readonly<Record<string, (path: string) => Promise<string>>> = {
  async 'swagger-parser'(path) {
    const { default: parser }: { default: { validate(path: string): Promise<unknown> } } = await import(
      pathToFileURL(resolve('@apidevtools/swagger-parser')).href
    );
    return await parser.validate(path).then(
      () => '',
      (error: unknown) => String(error),
    );
  },
  async '@seriousme/openapi-schema-validator'(path) {
    type Result = { readonly valid: boolean; readonly errors?: unknown };
    const { Validator }: { Validator: new () => { validate(document: object): Promise<Result> } } =
      await import(pathToFileURL(resolve('@seriousme/openapi-schema-validator')).href);
    const { valid, errors } = await new Validator().validate(JSON.parse(readFileSync(path, 'utf8')));
    return valid ? '' : JSON.stringify(errors);
  },
};

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'task-gateway-validated-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

describe.each(Object.entries(validators))('%s', (_name, validate) => {
  test.each(['clients-and-agents.3.1', 'admin.3.1', 'agent.3.1', 'simulator.3.1'])(
    'accepts %s',
    async (name) => {
      expect(await validate(join(openapi, `${name}.json`))).toBe('');
    },
  );

  test('refuses a document whose version is a number', async () => {
    const document = JSON.parse(readFileSync(join(openapi, 'agent.3.1.json'), 'utf8'));
    document.info.version = 1;
    const path = join(folder, 'broken.json');
    writeFileSync(path, JSON.stringify(document));
    expect(await validate(path)).not.toBe('');
  });
});
