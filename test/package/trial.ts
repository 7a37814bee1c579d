/**
 * A package tried as its user has it: installed from its tarball into an empty folder, beside those of ours
 * that it needs and nothing else, then used there on each Node of this machine that it supports. Throws where
 * an installation would run scripts, or where the package does not work.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findHostNode } from './checkout.ts';

export type Trial = {
  /** What was installed, our own included, in MB of 10^6 bytes. */
  readonly packages: number;
  readonly installedMb: number;
  readonly installSeconds: number;
  /** The versions of Node it was used on. */
  readonly nodes: readonly string[];
};

/** `tarballs` are of the package and of what it needs; `engine` is the oldest Node it supports, `>=20.19`. */
export function tryPackage(tarballs: readonly string[], engine: string, program: string): Trial {
  const project = mkdtempSync(join(tmpdir(), 'task-gateway-trial-'));
  try {
    writeFileSync(join(project, 'package.json'), '{ "private": true }\n');
    const startedMs = performance.now();
    const options = ['--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'];
    run('npm', ['install', ...options, ...tarballs], project);
    const installSeconds = (performance.now() - startedMs) / 1_000;
    const lock = readFileSync(join(project, 'package-lock.json'), 'utf8');
    if (lock.includes('"hasInstallScript"')) throw new Error('An installation would run scripts.');
    const nodes = findNodes(engine);
    writeFileSync(join(project, 'use.cjs'), program);
    for (const { node } of nodes) run(node, ['use.cjs'], project);
    const { packages } = JSON.parse(lock) as { packages: Readonly<Record<string, unknown>> };
    return {
      packages: Object.keys(packages).filter((path) => path !== '').length,
      installedMb: sizeOf(join(project, 'node_modules')) / 1e6,
      installSeconds,
      nodes: nodes.map(({ version }) => version),
    };
  } finally {
    rmSync(project, { recursive: true, force: true });
  }
}

type Version = { readonly node: string; readonly version: string };

/** This Node, and the machine's own where the package supports it. */
function findNodes(engine: string): readonly Version[] {
  const [, major = 0, minor = 0] = /^>=(\d+)\.(\d+)$/.exec(engine)?.map(Number) ?? [];
  if (major === 0) throw new Error(`"engines" is "${engine}", and must be like ">=20.19".`);
  const host = findHostNode();
  const found = [process.execPath, ...(host === null ? [] : [host])].map((node) => ({
    node,
    version: run(node, ['-p', 'process.versions.node'], '.').trim(),
  }));
  return found.filter(({ version }, index) => {
    const [own = 0, part = 0] = version.split('.').map(Number);
    const isFirst = found.findIndex((other) => other.version === version) === index;
    return isFirst && (own > major || (own === major && part >= minor));
  });
}

function run(command: string, args: readonly string[], cwd: string): string {
  return execFileSync(command, [...args], { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
}

function sizeOf(folder: string): number {
  if (!existsSync(folder)) return 0;
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return files.reduce((sum, file) => sum + statSync(join(file.parentPath, file.name)).size, 0);
}
