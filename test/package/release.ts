/**
 * `npm run release -- --to FOLDER`: makes what is published of this version: a tarball of each package of
 * `packages.ts`, their checksums (`SHA256SUMS`) and the version's entry of the changelog (`NOTES.md`). It
 * packs a copy of what git lists, so nothing that lies in the working folder gets into a tarball. Then each
 * package is installed alone and used, and `npm publish --dry-run` looks at it. What it does now, and what
 * each build says, is on standard error.
 *
 * When all of that went well, it dates the entry, keeps the contract as the baseline of
 * `contract/breaking.test.ts`, commits both and tags the commit. It publishes nothing: it says which commands
 * do. It refuses to begin where the version has a tag, something is not committed, or a name of the owner's
 * (`owner.ts`) is missing. With `--preview` it only packs and tries.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { readScriptOptions } from '../harness/script-options.ts';
import { listMissingNames, nameOwner, type Owner, scopeOf } from './owner.ts';
import { PACKAGES, type PublishedPackage } from './packages.ts';
import { openRepository } from './repository.ts';
import { tryPackage } from './trial.ts';

const ROOT = join(import.meta.dirname, '../..');
const FOLDERS = PACKAGES.map(({ folder }) => folder);
/** What the packages are built from. */
const PACKED = new RegExp(
  `^(${FOLDERS.join('|')})/|^((package|tsconfig)\\.json|test/whole-installation\\.js)$`,
);
const CHANGELOG = 'CHANGELOG.md';
const BASELINE = 'test/contract/baseline/task-gateway.3.2.json';

type Manifest = {
  readonly name: string;
  readonly version: string;
  readonly engines: { readonly node: string };
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly scripts?: Readonly<Record<string, string>>;
};

const values = readScriptOptions('npm run release', {
  to: { type: 'string', value: 'FOLDER', default: 'release' },
  preview: { type: 'boolean', default: false },
});
const { files, read } = openRepository(ROOT);
const owner = JSON.parse(read('package.json')) as Owner;

try {
  const version = readVersion();
  const entry = readEntry(version);
  if (!values.preview) requireReady(version);
  for (const published of PACKAGES) checkManifest(published, readManifest(published.folder));
  const folder = resolve(values.to);
  mkdirSync(folder, { recursive: true });
  const tarballs = packCopy(folder);
  const names = [...tarballs.values()];
  writeFileSync(
    join(folder, 'SHA256SUMS'),
    names.map((name) => `${sumOf(join(folder, name))}  ${name}\n`).join(''),
  );
  const day = new Date().toISOString().slice(0, 10);
  const notes = values.preview ? entry : entry.replace(/^(## \S+)\n/, `$1 (${day})\n`);
  writeFileSync(join(folder, 'NOTES.md'), notes);
  console.log([...names, 'SHA256SUMS', 'NOTES.md'].map((name) => join(folder, name)).join('\n'));
  const find = (one: string) => join(folder, tarballs.get(one) ?? '');
  for (const published of PACKAGES) console.log(describeTrial(published, find));
  const publish = names.map((name) => ['publish', join(folder, name), '--access', 'public']);
  for (const args of publish) npm([...args, '--dry-run', '--loglevel=error'], folder);
  if (values.preview) {
    console.log('A preview, to install and try: nothing is tagged or published.');
  } else {
    tagRelease(version, entry, notes);
    console.log(`Tagged v${version}. Publish in this order:`);
    for (const args of publish) console.log(`  npm ${args.join(' ')}`);
  }
} catch (error) {
  console.error(`The release failed. ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}

function readManifest(folder: string): Manifest {
  return JSON.parse(read(`${folder}/package.json`));
}

/** The version that all parts agree on; throws when they do not. */
function readVersion(): string {
  const found = FOLDERS.map((folder) => [`${folder}/package.json`, readManifest(folder).version]);
  const document = 'generated/openapi/task-gateway.3.1.json';
  found.push([document, String(JSON.parse(read(document)).info.version)]);
  const [[, version = ''] = []] = found;
  if (found.every(([, other]) => other === version)) return version;
  throw new Error(`The versions differ: ${found.map((pair) => pair.join(' ')).join(', ')}.`);
}

/** The version's entry of the changelog, which has no date before the release. */
function readEntry(version: string): string {
  const entries = read(CHANGELOG).split(/^(?=## )/m);
  const entry = entries.find((one) => one.startsWith(`## ${version}\n`) || one.startsWith(`## ${version} (`));
  if (entry === undefined) throw new Error(`${CHANGELOG} has no section "## ${version}".`);
  return entry;
}

/** Throws if this version is out, or cannot be yet. */
function requireReady(version: string): void {
  if (git('tag', '--list', `v${version}`) !== '') {
    throw new Error(
      `${version} has its tag: write the next version into the contract, into package.json of ` +
        `${FOLDERS.join(', ')}, and above its own entry of ${CHANGELOG}.`,
    );
  }
  const missing = listMissingNames(owner);
  if (missing.length > 0) {
    throw new Error(
      `The package.json at the top says no ${missing.join(', no ')}. To pack and try without: ` +
        'npm run release -- --preview',
    );
  }
  const changed = git('status', '--porcelain');
  if (changed !== '') throw new Error(`Commit these first, or take them back:\n${changed}`);
}

/** Dates the entry, keeps the contract for the comparison with later ones, commits both, tags the commit. */
function tagRelease(version: string, entry: string, notes: string): void {
  writeFileSync(
    join(ROOT, CHANGELOG),
    read(CHANGELOG).replace(entry, () => notes),
  );
  cpSync(join(ROOT, 'generated/openapi/task-gateway.3.2.json'), join(ROOT, BASELINE));
  git('commit', '--quiet', '--message', `Release ${version}`, '--', CHANGELOG, BASELINE);
  // Else git takes the headings for comments.
  git('tag', '--annotate', '--cleanup=whitespace', '--message', notes, `v${version}`);
}

function git(...args: readonly string[]): string {
  return execFileSync('git', [...args], { cwd: ROOT, encoding: 'utf8' });
}

/** A program is installed as it was tried here: its dependencies are exact. No package runs scripts then. */
function checkManifest({ folder, name, isLibrary }: PublishedPackage, manifest: Manifest): void {
  const scope = scopeOf(owner);
  if (manifest.name !== `${scope}/${name}`) {
    throw new Error(`${folder}/package.json is called ${manifest.name}, and must be ${scope}/${name}.`);
  }
  const kept = isLibrary ? /^\^\d/ : /^\d/;
  const loose = Object.entries(manifest.dependencies ?? {}).filter(([, range]) => !kept.test(range));
  if (loose.length > 0) {
    throw new Error(
      `${folder}/package.json must name ${isLibrary ? 'ranges (^)' : 'exact versions'} of ` +
        `${loose.map(([one]) => one).join()}.`,
    );
  }
  const atInstall = ['preinstall', 'install', 'postinstall'].filter((one) => one in (manifest.scripts ?? {}));
  if (atInstall.length > 0) throw new Error(`${folder}/package.json must not have ${atInstall.join(', ')}.`);
}

/** Packs the packages from a copy; returns the names of the tarballs by their folders. */
function packCopy(target: string): ReadonlyMap<string, string> {
  const copy = mkdtempSync(join(tmpdir(), 'task-gateway-release-'));
  try {
    for (const file of files.filter((one) => PACKED.test(one))) {
      mkdirSync(join(copy, dirname(file)), { recursive: true });
      cpSync(join(ROOT, file), join(copy, file));
    }
    for (const folder of ['node_modules', ...FOLDERS.map((name) => `${name}/node_modules`)]) {
      if (existsSync(join(ROOT, folder))) symlinkSync(join(ROOT, folder), join(copy, folder));
    }
    for (const { folder, page } of PACKAGES) {
      const manifest = join(copy, folder, 'package.json');
      writeFileSync(
        manifest,
        `${JSON.stringify({ ...readManifest(folder), ...nameOwner(owner, folder) }, null, 2)}\n`,
      );
      if (page !== undefined) cpSync(join(copy, folder, page), join(copy, folder, 'README.md'));
    }
    return new Map(FOLDERS.map((folder) => [folder, pack(join(copy, folder), target)]));
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** Builds and packs one package; returns the name of its tarball. */
function pack(workspace: string, folder: string): string {
  // By itself: where npm packs, the compiler's words would be a part of the report.
  npm(['run', 'prepack', '--if-present'], workspace, process.stderr);
  const options = ['--ignore-scripts', '--loglevel=error', '--pack-destination', folder];
  const [report] = JSON.parse(npm(['pack', '--json', ...options], workspace)) as [{ filename: string }];
  return report.filename;
}

/** Installs and uses a package; returns a line of what that came to. */
function describeTrial({ folder, name, needs, program }: PublishedPackage, find: (one: string) => string) {
  const tarballs = [...needs, folder].map(find);
  const { engines } = readManifest(folder);
  console.error(`Trying ${name}, installed alone …`);
  const { packages, installedMb, installSeconds, nodes } = tryPackage(tarballs, engines.node, program);
  const packedKb = statSync(find(folder)).size / 1e3;
  return (
    `${name}: ${packedKb.toFixed(0)} kB; alone ${packages} ${packages === 1 ? 'package' : 'packages'} with ${installedMb.toFixed(1)} MB ` +
    `after ${installSeconds.toFixed(1)} s; used on Node ${nodes.join(' and ')}`
  );
}

/** Runs npm; returns what it prints, unless that goes to a stream. */
function npm(args: readonly string[], cwd: string, to: 'pipe' | NodeJS.WriteStream = 'pipe'): string {
  return execFileSync('npm', [...args], {
    cwd,
    encoding: 'utf8',
    maxBuffer: 10_000_000,
    stdio: ['ignore', to, 'inherit'],
  });
}

function sumOf(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}
