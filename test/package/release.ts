/**
 * `npm run release -- --to FOLDER`: makes what is published of this version: the tarballs of the contract and
 * of the SDK, their checksums (`SHA256SUMS`) and the version's section of the changelog (`NOTES.md`). It
 * packs a copy of what git lists, so nothing that lies in the working folder gets into a tarball.
 *
 * While the changelog has entries that belong to no version, it refuses: give them a version first, in the
 * changelog, the contract and the three package.json files. `--preview` packs them as they are.
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
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { readScriptOptions } from '../harness/script-options.ts';
import { openRepository } from './repository.ts';

const ROOT = join(import.meta.dirname, '../..');
/** What the packages are built from. */
const PACKED = /^(generated|sdk)\/|^(package|tsconfig)\.json$/;
const WORKSPACES = ['generated', 'sdk'];
const UNRELEASED = 'Unreleased';

const values = readScriptOptions('npm run release', {
  to: { type: 'string', value: 'FOLDER', default: 'release' },
  preview: { type: 'boolean', default: false },
});
const { files, read } = openRepository(ROOT);

try {
  const version = readVersion();
  const notes = readNotes(version);
  const folder = resolve(values.to);
  mkdirSync(folder, { recursive: true });
  const tarballs = packCopy(folder);
  writeFileSync(
    join(folder, 'SHA256SUMS'),
    tarballs.map((name) => `${sumOf(join(folder, name))}  ${name}\n`).join(''),
  );
  writeFileSync(join(folder, 'NOTES.md'), `${notes}\n`);
  console.log([...tarballs, 'SHA256SUMS', 'NOTES.md'].map((name) => join(folder, name)).join('\n'));
} catch (error) {
  console.error(`Nothing was released. ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}

/** The version that all parts agree on; throws when they do not. */
function readVersion(): string {
  const manifests = ['generated', 'sdk', 'server'].map((name) => `${name}/package.json`);
  const found = manifests.map((file) => [file, String(JSON.parse(read(file)).version)]);
  const document = 'generated/openapi/task-gateway.3.1.json';
  found.push([document, String(JSON.parse(read(document)).info.version)]);
  const [[, version = ''] = []] = found;
  if (found.every(([, other]) => other === version)) return version;
  throw new Error(`The versions differ: ${found.map((pair) => pair.join(' ')).join(', ')}.`);
}

/** The version's section of the changelog; in a preview, the section that has no version yet. */
function readNotes(version: string): string {
  const sections = read('CHANGELOG.md').split(/^(?=## )/m);
  const findSection = (title: string) => sections.find((one) => one.startsWith(`## ${title}\n`));
  const unreleased = findSection(UNRELEASED) ?? '';
  const hasEntries = /^- /m.test(unreleased);
  if (hasEntries && !values.preview) {
    throw new Error(
      `CHANGELOG.md has entries under "${UNRELEASED}": name the version they belong to, there and in ` +
        `package.json of ${WORKSPACES.join(', ')} and server, or pack them as they are: npm run release -- --preview`,
    );
  }
  const section = hasEntries ? unreleased : findSection(version);
  if (section === undefined) throw new Error(`CHANGELOG.md has no section "## ${version}".`);
  return section.trim();
}

/** Packs the workspaces from a copy; returns the names of the tarballs. */
function packCopy(target: string): readonly string[] {
  const copy = mkdtempSync(join(tmpdir(), 'task-gateway-release-'));
  try {
    for (const file of files.filter((one) => PACKED.test(one))) {
      mkdirSync(join(copy, dirname(file)), { recursive: true });
      cpSync(join(ROOT, file), join(copy, file));
    }
    for (const folder of ['node_modules', ...WORKSPACES.map((name) => `${name}/node_modules`)]) {
      if (existsSync(join(ROOT, folder))) symlinkSync(join(ROOT, folder), join(copy, folder));
    }
    return WORKSPACES.map((workspace) => pack(join(copy, workspace), target));
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** Packs one package, which builds it; returns the name of its tarball. */
function pack(workspace: string, folder: string): string {
  const args = ['pack', '--json', '--loglevel=error', '--pack-destination', folder];
  const printed = execFileSync('npm', args, { cwd: workspace, encoding: 'utf8', maxBuffer: 10_000_000 });
  // The output of the build comes before the report.
  const [report] = JSON.parse(printed.slice(printed.indexOf('[\n'))) as [{ filename: string }];
  return report.filename;
}

function sumOf(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}
