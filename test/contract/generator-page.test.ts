/**
 * The page "Generate a client" says what `generators.test.ts` runs: the same generators, versions, flags and
 * files. That test shows with the clients themselves which packages they import.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { FOREIGN_MODULES } from '../harness/tools.ts';
import { foreignGenerators, type Generator, generators } from './clients.ts';
import { PAGE, readLanguageCommands, readRows, readSections } from './generator-page.ts';

const ROOT = join(import.meta.dirname, '../..');
const GATEWAY = 'http://127.0.0.1:8080';
const DOCUMENT = 'openapi.json';

type Manifest = Readonly<Record<string, Readonly<Record<string, string>>>>;

const readText = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const readManifest = (path: string): Manifest => JSON.parse(readText(path));

/** The exact versions that are installed, of this repository and of the generators that CI alone installs. */
const own = readManifest('package.json').devDependencies ?? {};
const foreign = JSON.parse(readFileSync(join(FOREIGN_MODULES, '../package.json'), 'utf8'))
  .dependencies as Record<string, string>;
const tried = [
  ...generators.map((generator) => ({ generator, versions: own })),
  ...foreignGenerators.map((generator) => ({ generator, versions: foreign })),
];
const rows = readRows();
const sections = readSections();

/** The package of a generator: what its command's path begins with. */
function namePackage({ command }: Generator): string {
  return /^(@[^/]+\/)?[^/]+/.exec(command)?.[0] ?? '';
}

const squeeze = (text: string): string => text.replaceAll(/\s/g, '');

test('the page has a row and a section for each generator that is tried, in that order', () => {
  const names = tried.map(({ generator }) => generator.name);
  expect(rows.map(({ name }) => name)).toEqual(names);
  expect(sections.map(({ name }) => name)).toEqual(names);
  const headings = [...PAGE.matchAll(/^## (.+)$/gm)].map(([, heading = '']) => heading);
  const anchors = headings.map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  );
  for (const [, anchor = ''] of PAGE.matchAll(/\]\(#([\w-]+)\)/g)) expect(anchors).toContain(anchor);
});

describe.each(tried)('$generator.name', ({ generator, versions }) => {
  const row = rows.find(({ name }) => name === generator.name);
  const section = sections.find(({ name }) => name === generator.name);

  test('has the version that is tried', () => {
    expect(row?.version).toBe(versions[namePackage(generator)]);
    expect(section?.installed[0]?.name).toBe(namePackage(generator));
    for (const { name, version } of [...(section?.installed ?? []), ...(section?.imported ?? [])])
      expect(version, name).toBe(versions[name]);
    expect(section?.imported.map(({ name }) => name)).toEqual(row?.imported);
  });

  test('has the flags that are tried, and the files it reads', () => {
    expect(section?.options).toEqual(generator.options(DOCUMENT));
    const files = Object.entries(generator.files?.(DOCUMENT, 'gateway', GATEWAY) ?? {});
    const asWritten = Object.entries(section?.files ?? {});
    expect(asWritten.map(([name, text]) => [name, squeeze(text)])).toEqual(
      files.map(([name, text]) => [name, squeeze(text)]),
    );
  });

  test('gives what the program over its client uses, and the schemas that are tried', () => {
    expect(row?.gives.includes('schemas')).toBe(generator.schema !== undefined);
    expect(row?.gives.includes('your `fetch`')).toBe(/\bfetch\(/.test(section?.program ?? ''));
  });
});

test('the packages that are installed for generators are on the page, but the validators', () => {
  const named = sections.flatMap(({ installed, imported }) => [...installed, ...imported]);
  const left = Object.keys(foreign).filter((name) => named.every((other) => other.name !== name));
  expect(left).toEqual(['@apidevtools/swagger-parser', '@seriousme/openapi-schema-validator', 'tsx']);
  expect(PAGE).toContain(`npm install --save-dev tsx@${foreign.tsx}\n`);
});

test('the set-up of kubb for an agent is the one of the page without pluginClient', () => {
  const kubb = foreignGenerators.find(({ name }) => name === 'kubb');
  const [forAgent = ''] = Object.values(kubb?.files?.(DOCUMENT, 'agent', GATEWAY) ?? {});
  const [onPage = ''] = Object.values(sections.find(({ name }) => name === 'kubb')?.files ?? {});
  expect(squeeze(forAgent)).toBe(squeeze(onPage.replace(/^ +pluginClient\(.*\n/m, '')));
});

test('the published types are made with the generator and the flag that the page names', () => {
  const [flag = ''] = sections[0]?.options.filter((option) => option.startsWith('--default')) ?? [];
  expect(readText('spec/generate.ts')).toContain(`'${flag}'`);
  expect(PAGE).toContain(`TypeScript ${own.typescript}\n`);
});

test('the rows and commands for other languages have the versions that are tried, and the set-up', () => {
  const read = (name: string): string => readText(`test/contract/generators/${name}`);
  const modules = read('oapi-codegen/go.mod');
  const find = (pattern: RegExp, text: string): string | undefined => pattern.exec(text)?.[1];
  const python = find(/^openapi-python-client==(.+)$/m, read('openapi-python-client/requirements.txt'));
  const pom = read('openapi-generator-java/pom.xml');
  const java = find(/<artifactId>openapi-generator-cli<\/artifactId>\s+<version>(.+)<\/version>/, pom);
  expect([...PAGE.matchAll(/^\| ([a-z-]+) \| ([\d.]+) \|/gm)].map((row) => row.slice(1))).toEqual([
    ['openapi-python-client', python],
    ['openapi-generator', java],
    ['openapi-generator', java],
    ['oapi-codegen', find(/oapi-codegen\/v2 v(\S+)/, modules)],
    ['progenitor', find(/^progenitor-macro = "=(.+)"$/m, read('progenitor/Cargo.toml'))],
  ]);
  const commands = readLanguageCommands().join('\n');
  expect(commands).toContain(`pip install openapi-python-client==${python}\n`);
  expect(new Set(commands.match(/(?<=openapi-generator-cli-).+(?=\.jar)/g))).toEqual(new Set([java]));
  const got = [...commands.matchAll(/^go get .*(github\.com\/[\w-]+\/[\w-]+(?:\/v\d)?)\S*@(\S+)$/gm)];
  expect(got.map(([, name]) => name)).toHaveLength(2);
  for (const [, name = '', version = ''] of got) expect(modules).toContain(`${name} ${version}`);
  expect(PAGE).toContain(`\`\`\`yaml oapi-codegen.yaml\n${read('oapi-codegen/oapi-codegen.yaml')}\`\`\`\n`);
});

test('a generator of another language meets what the page says of the document', () => {
  const document = readText('generated/openapi/clients-and-agents.3.1.json');
  const besides = new Set<string>();
  const parsed = JSON.parse(document, (_, value) => {
    if (typeof value?.$ref === 'string') for (const key of Object.keys(value)) besides.add(key);
    return value;
  });
  expect([...besides].sort()).toEqual(['$ref', 'description', 'example', 'minimum']);
  expect(document).toMatch(/"type": "null"/);
  expect(document).not.toMatch(/"type": \[/);
  expect(Object.keys(parsed.webhooks)).toEqual(['pushTask']);
});
