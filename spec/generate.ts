/**
 * Writes everything that is published from the TypeSpec sources beside this file: the OpenAPI documents and the types.
 * `node spec/generate.ts` writes `generated/`; with `--check` it writes nothing and fails if a file there is stale.
 * The same sources give the same bytes.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import openapiTS, { astToString } from 'openapi-typescript';
import { stringify } from 'yaml';
import {
  correctAgentDocument,
  correctGatewayDocument,
  correctStreamedDocument,
  mergePush,
} from './corrections.ts';
import type { Json } from './document.ts';

const specFolder = dirname(fileURLToPath(import.meta.url));
const generatedFolder = join(specFolder, '..', 'generated');
const versions = ['3.1', '3.2'] as const;

/** What `generated/` must hold: the text of each generated file by its path there. */
export async function generateFiles(): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  const compiled = compileSources();
  const emitted = compiled('3.1', 'TaskGateway');
  const gateway = correctGatewayDocument(structuredClone(emitted));
  const streamed = correctStreamedDocument(compiled('3.2', 'TaskGateway'), gateway, emitted);
  const agent = correctAgentDocument(compiled('3.1', 'TaskGatewayAgent'));
  addDocument(files, 'task-gateway.3.1', mergePush(gateway, agent));
  addDocument(files, 'task-gateway.3.2', mergePush(streamed, agent));
  addDocument(files, 'agent.3.1', agent);
  addDocument(files, 'agent.3.2', correctAgentDocument(compiled('3.2', 'TaskGatewayAgent')));
  files.set('gateway.d.ts', await describeTypes(gateway));
  files.set('agent.d.ts', await describeTypes(agent));
  return files;
}

/** Compiles the TypeSpec sources; answers a reader of the documents that came out. */
function compileSources(): (version: string, service: string) => Json {
  const folder = mkdtempSync(join(tmpdir(), 'task-gateway-contract-'));
  try {
    const tsp = join(specFolder, '..', 'node_modules', '.bin', 'tsp');
    const options = ['compile', specFolder, '--warn-as-error', '--output-dir', folder];
    execFileSync(process.execPath, [tsp, ...options], { stdio: ['ignore', 'pipe', 'pipe'] });
    const documents = new Map<string, Json>();
    for (const version of versions) {
      for (const service of ['TaskGateway', 'TaskGatewayAgent']) {
        const path = join(folder, `${version}.0`, `openapi.${service}.json`);
        documents.set(`${version} ${service}`, JSON.parse(readFileSync(path, 'utf8')));
      }
    }
    return (version, service) => structuredClone(documents.get(`${version} ${service}`) ?? {});
  } catch (error) {
    const output = error instanceof Error && 'stdout' in error ? String(error.stdout) : '';
    throw new Error(`The TypeSpec sources do not compile.\n${output}`, { cause: error });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function addDocument(files: Map<string, string>, name: string, document: Json): void {
  files.set(`openapi/${name}.json`, `${JSON.stringify(document, null, 2)}\n`);
  files.set(`openapi/${name}.yaml`, stringify(document, { lineWidth: 0, aliasDuplicateObjects: false }));
}

async function describeTypes(document: Json): Promise<string> {
  const ast = await openapiTS(JSON.stringify(document), { defaultNonNullable: false, silent: true });
  return `// Generated from the contract. Do not edit: change the TypeSpec sources and generate again.\n${astToString(ast)}`;
}

function readGenerated(path: string): string | undefined {
  try {
    return readFileSync(join(generatedFolder, path), 'utf8');
  } catch {
    return undefined;
  }
}

/** Compares what is there with what should be: the paths that differ. */
export async function findStaleFiles(): Promise<string[]> {
  const files = await generateFiles();
  return [...files].filter(([path, text]) => readGenerated(path) !== text).map(([path]) => path);
}

async function writeFiles(): Promise<void> {
  for (const [path, text] of await generateFiles()) {
    const target = join(generatedFolder, path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text);
  }
}

if (import.meta.main) {
  if (process.argv.includes('--check')) {
    const stale = await findStaleFiles();
    if (stale.length > 0) {
      console.error(`Stale in generated/: ${stale.join(', ')}. Run "npm run generate" and commit the result.`);
      process.exitCode = 1;
    }
  } else {
    await writeFiles();
  }
}
