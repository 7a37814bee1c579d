/**
 * Generates everything in `generated/` from the sources in this folder: the OpenAPI documents and the types,
 * which are published, what the conformance kit requires, and the pages at `/docs` and `/console`, which
 * are only served.
 * `node spec/generate.ts` writes `generated/`; with `--check` it writes nothing and fails if a file there is
 * stale. The output is deterministic: the same sources give the same bytes.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { addAgentSamples, addGatewaySamples } from './code-samples.ts';
import { buildConsoleFiles } from './console-files.ts';
import {
  correctAgentDocument,
  correctGatewayDocument,
  correctProbesDocument,
  correctSimulatorDocument,
  correctStreamedDocument,
  mergePush,
} from './corrections.ts';
import { readDocsFiles } from './docs-files.ts';
import { type Json, requireObject } from './document.ts';
import { nameJsonValues, writeForGenerators } from './generator-forms.ts';
import { addLinks } from './links.ts';
import { addProbes, cutAdminDocument, cutClientDocument, requireUnion } from './published-documents.ts';
import { writePythonContract } from './python-contract.ts';
import { buildRequirements } from './requirements.ts';
import { shareParts } from './shared-parts.ts';
import { buildStates } from './states.ts';
import { buildVectors } from './vectors.ts';

const specFolder = dirname(fileURLToPath(import.meta.url));
const generatedFolder = join(specFolder, '..', 'generated');
const PYTHON_CONTRACT = '../sdk/python/task_gateway/contract.py';

/** Returns the text of each file to generate, by its path in `generated/`. */
function generateFiles(): ReadonlyMap<string, string> {
  const folder = mkdtempSync(join(tmpdir(), 'task-gateway-contract-'));
  try {
    const files = new Map<string, string>();
    const readDocument = compileSources(folder);
    const emitted = readDocument('3.1', 'TaskGateway');
    const typed = addGuide(correctGatewayDocument(structuredClone(emitted)));
    addGatewaySamples(typed);
    shareParts(typed);
    addLinks(typed);
    const gateway = writeForGenerators(typed);
    const streamed = correctStreamedDocument(readDocument('3.2', 'TaskGateway'), gateway, emitted);
    const readAgent = (version: string): Json => {
      const document = correctAgentDocument(readDocument(version, 'TaskGatewayAgent'));
      addAgentSamples(document);
      return document;
    };
    const agent = readAgent('3.1');
    const whole = mergePush(gateway, agent);
    const wholeStreamed = mergePush(streamed, agent);
    files.set('openapi/task-gateway.3.1.json', writeJson(whole));
    files.set('openapi/task-gateway.3.2.json', writeJson(wholeStreamed));
    const admin = cutAdminDocument(whole);
    const probes = correctProbesDocument(readDocument('3.1', 'TaskGatewayProbes'));
    for (const [version, document] of [['3.1', whole] as const, ['3.2', wholeStreamed] as const]) {
      const clients = cutClientDocument(document);
      requireUnion(document, [clients, { ...admin, openapi: document.openapi }]);
      addDocument(files, `clients-and-agents.${version}`, clients);
    }
    addDocument(files, 'admin.3.1', addProbes(admin, probes));
    addDocument(files, 'agent.3.1', agent);
    addDocument(files, 'agent.3.2', readAgent('3.2'));
    const simulator = correctSimulatorDocument(readDocument('3.1', 'TaskGatewaySimulator'), whole);
    addDocument(files, 'simulator.3.1', nameJsonValues(simulator));
    files.set('gateway.d.ts', generateTypes(folder, typed));
    // A package for Python holds only what is below its own folder.
    files.set(PYTHON_CONTRACT, writePythonContract(cutClientDocument(wholeStreamed)));
    files.set('agent.d.ts', generateTypes(folder, agent));
    files.set('simulator.d.ts', generateTypes(folder, simulator));
    for (const [name, text] of [...buildRequirements(gateway), ...buildVectors(gateway)])
      files.set(`conformance/${name}`, text);
    files.set('conformance/states.json', buildStates());
    for (const [name, text] of readDocsFiles(specFolder)) files.set(`docs/${name}`, text);
    for (const [name, text] of buildConsoleFiles(specFolder)) files.set(`console/${name}`, text);
    return files;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns the gateway's document with `guide.md`, which says what no schema can, after its description. */
function addGuide(document: Json): Json {
  const info = requireObject(document, 'info');
  const guide = readFileSync(join(specFolder, 'guide.md'), 'utf8');
  return { ...document, info: { ...info, description: `${info.description}\n\n${guide}` } };
}

/** Compiles the TypeSpec sources; returns a function that reads one of the emitted documents. */
function compileSources(folder: string): (version: string, service: string) => Json {
  runTool('tsp', ['compile', specFolder, '--warn-as-error', '--output-dir', folder], folder);
  return (version, service) =>
    JSON.parse(readFileSync(join(folder, `${version}.0`, `openapi.${service}.json`), 'utf8'));
}

/** Returns the TypeScript types of a document, as openapi-typescript generates them. */
function generateTypes(folder: string, document: Json): string {
  writeFileSync(join(folder, 'document.json'), JSON.stringify(document));
  runTool(
    'openapi-typescript',
    ['document.json', '--default-non-nullable=false', '--output', 'types.d.ts'],
    folder,
  );
  const types = readFileSync(join(folder, 'types.d.ts'), 'utf8').replace(
    /^\/\*\*[\s\S]*?\*\//,
    '// Generated from the contract. Do not edit: change the TypeSpec sources and generate again.',
  );
  return keepKnownTexts(types);
}

/**
 * Makes the compiler keep the known values of a text that may have others: it reads `'a' | string` as
 * `string`, and an editor then offers no value. For the same reason a field that a schema narrows gets the
 * narrower type alone, without the type of the schema that it extends.
 */
function keepKnownTexts(types: string): string {
  return types
    .replace(/ \| string;$/gm, ' | (string & {});')
    .replace(/^type WithRequired<[\s\S]*?^};\s*/m, '')
    .replace(/\bWithRequired<(?=components)/g, 'Omit<');
}

/** Runs a development tool of this repository with this process's Node. Throws an error with its output. */
function runTool(name: string, options: readonly string[], cwd: string): void {
  const tool = join(specFolder, '..', 'node_modules', '.bin', name);
  try {
    execFileSync(process.execPath, [tool, ...options], { cwd, stdio: 'pipe' });
  } catch (error) {
    const output = error instanceof Error && 'stdout' in error ? `${error.stdout}` : '';
    throw new Error(`${name} failed.\n${output}`, { cause: error });
  }
}

function addDocument(files: Map<string, string>, name: string, document: Json): void {
  files.set(`openapi/${name}.json`, writeJson(document));
  files.set(`openapi/${name}.yaml`, stringify(document, { lineWidth: 0, aliasDuplicateObjects: false }));
}

function writeJson(document: Json): string {
  return `${JSON.stringify(document, null, 2)}\n`;
}

function readGenerated(path: string): string | undefined {
  try {
    return readFileSync(join(generatedFolder, path), 'utf8');
  } catch {
    return undefined;
  }
}

/** Returns the paths of the files in `generated/` that differ from what the sources give. */
export function findStaleFiles(): readonly string[] {
  const files = generateFiles();
  const differing = [...files].filter(([path, text]) => readGenerated(path) !== text).map(([path]) => path);
  return [...differing, ...listLeftFiles(files)];
}

/** Lists the console's files of earlier builds, whose names have changed with their content. */
function listLeftFiles(files: ReadonlyMap<string, string>): readonly string[] {
  const names = readdirSync(join(generatedFolder, 'console'));
  return names.map((name) => `console/${name}`).filter((path) => !files.has(path));
}

function writeFiles(): void {
  const files = generateFiles();
  for (const [path, text] of files) {
    const target = join(generatedFolder, path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text);
  }
  for (const path of listLeftFiles(files)) rmSync(join(generatedFolder, path));
}

if (import.meta.main) {
  const unknown = process.argv.slice(2).find((word) => word !== '--check');
  if (unknown !== undefined) {
    console.error(`npm run generate: Unknown option '${unknown}'. It takes: npm run generate -- [--check]`);
    process.exit(1);
  }
  if (process.argv.includes('--check')) {
    const stale = findStaleFiles();
    if (stale.length > 0) {
      console.error(
        `Stale in generated/: ${stale.join(', ')}. Run "npm run generate" and commit the result.`,
      );
      process.exitCode = 1;
    }
  } else {
    writeFiles();
  }
}
