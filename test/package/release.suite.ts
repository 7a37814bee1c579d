/** What `npm run release` makes and says, and what the package of the server holds. */
import { execFile } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { get, submit } from '../e2e/plain-calls.ts';
import { startGateway } from '../harness/gateway-process.ts';
import { startRedis } from '../harness/redis-process.ts';
import { listMissingNames, nameOwner, scopeOf } from './owner.ts';
import { PACKAGES } from './packages.ts';
import { openRepository } from './repository.ts';

const ROOT = join(import.meta.dirname, '../..');
const run = promisify(execFile);
const { files, read } = openRepository(ROOT);
const { version: VERSION } = JSON.parse(read('server/package.json')) as { version: string };
const TARBALLS = PACKAGES.map(({ name }) => `task-gateway-${name}-${VERSION}.tgz`);

type Ran = { readonly stdout: string; readonly stderr: string };

export type Release = {
  /** The folder it was made in, which has space for more. */
  readonly folder: () => string;
  /** What the script has made. */
  readonly released: () => string;
  /** What it printed. */
  readonly printed: () => string;
  /** The checkout that it was made of and tagged in, which has the owner's names. */
  readonly checkout: () => string;
  /** Runs the script in a checkout. */
  readonly release: (options: readonly string[], cwd: string) => Promise<Ran>;
};

/** Copies this repository so that it can be released: all is committed, and the owner has names. */
export async function copyCheckout(to: string): Promise<string> {
  for (const file of files) {
    mkdirSync(join(to, dirname(file)), { recursive: true });
    cpSync(join(ROOT, file), join(to, file));
  }
  const manifest = JSON.parse(read('package.json'));
  const names = {
    repository: 'https://git.test/some.git',
    homepage: 'https://some.test',
    bugs: 'https://git.test/bugs',
  };
  writeFileSync(join(to, 'package.json'), JSON.stringify({ ...names, ...manifest }));
  const git = (...args: readonly string[]) => run('git', [...args], { cwd: to });
  await git('init', '--quiet');
  await git('config', 'user.name', 'Some One');
  await git('config', 'user.email', 'one@some.test');
  // Those are links here, which the list of what git leaves out does not mean.
  appendFileSync(join(to, '.git/info/exclude'), 'node_modules\n');
  await git('add', '.');
  await git('commit', '--quiet', '--message', 'Begin');
  for (const folder of ['.', ...PACKAGES.map((one) => one.folder)]) {
    const modules = join(ROOT, folder, 'node_modules');
    if (existsSync(modules)) symlinkSync(modules, join(to, folder, 'node_modules'));
  }
  return to;
}

/** Describes the script and its results. */
export function describeRelease({ folder, released, printed, checkout, release }: Release): void {
  describe('the release', () => {
    test('has the checksums of its tarballs, and the entry of the changelog with its date', async () => {
      const { stdout } = await run('sha256sum', ['--check', 'SHA256SUMS'], { cwd: released() });
      expect(stdout.trim().split('\n')).toEqual(TARBALLS.map((tarball) => `${tarball}: OK`));
      const notes = readFileSync(join(released(), 'NOTES.md'), 'utf8');
      const [heading = '', ...lines] = notes.split('\n');
      expect(heading).toMatch(/^## \d+\.\d+\.\d+ \(\d{4}-\d\d-\d\d\)$/);
      expect(read('CHANGELOG.md')).toContain([heading.split(' (')[0], ...lines].join('\n'));
      expect(readFileSync(join(checkout(), 'CHANGELOG.md'), 'utf8')).toContain(notes);
    });

    test('is a commit with a tag, the entry its message, and the baseline that of its contract', async () => {
      const git = async (...args: readonly string[]) =>
        (await run('git', [...args], { cwd: checkout() })).stdout;
      expect(await git('status', '--porcelain')).toBe('');
      expect(await git('show', '--format=%s', '--name-only', 'HEAD')).toMatch(
        new RegExp(`^Release ${VERSION}\n\nCHANGELOG\\.md\n`),
      );
      expect(await git('for-each-ref', '--points-at=HEAD', '--format=%(refname:short)', 'refs/tags')).toBe(
        `v${VERSION}\n`,
      );
      const notes = readFileSync(join(released(), 'NOTES.md'), 'utf8').trim();
      expect((await git('tag', '--list', '--format=%(contents)')).trim()).toBe(notes);
      const [kept, made] = ['test/contract/baseline', 'generated/openapi'].map((folder) =>
        readFileSync(join(checkout(), folder, 'task-gateway.3.2.json'), 'utf8'),
      );
      expect(kept).toBe(made);
    });

    test('says how large each package is, and on which Node it was used alone', () => {
      const { node } = process.versions;
      for (const { name } of PACKAGES) {
        const [line = ''] = printed().match(new RegExp(`^${name}: .*$`, 'm')) ?? [];
        expect(line).toMatch(/^\w+: \d+ kB; alone \d+ packages? with \d+\.\d MB after \d+\.\d s; used on /);
        expect(line).toContain(`used on Node ${node}`);
      }
    });

    test('says last which commands publish it', () => {
      const [, commands = ''] = printed().split(`Tagged v${VERSION}. Publish in this order:\n`);
      expect(commands.trimEnd().split('\n')).toEqual(
        TARBALLS.map((tarball) => `  npm publish ${join(released(), tarball)} --access public`),
      );
    });

    test('fails with the words of the compiler, and says before what it does', async () => {
      const copy = join(folder(), 'broken');
      await run('git', ['clone', '--quiet', ROOT, copy]);
      symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
      writeFileSync(join(copy, 'sdk/clock.ts'), 'export const systemClock: number = "now";\n');
      const to = join(folder(), 'failed');
      const { code = 0, stderr } = await release(['--to', to, '--preview'], copy).catch((error) => error);
      expect(code).toBe(1);
      expect(stderr).toMatch(/> @task-gateway\/sdk@\S+ prepack\n(.*\n)*.*clock\.ts\(1,14\): error TS2322: /);
      expect(stderr).toContain('The release failed. Command failed: npm run prepack');
    });

    test('is refused without the owner’s names or an entry, with what is not committed, or twice', async () => {
      const refuse = async (cwd: string, sentence: string, ...options: readonly string[]) => {
        const to = join(folder(), 'refused');
        const { code = 0, stderr } = await release(['--to', to, ...options], cwd).catch((error) => error);
        expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(sentence) });
        expect(existsSync(to)).toBe(false);
      };
      const copy = join(folder(), 'copy');
      await run('git', ['clone', '--quiet', checkout(), copy]);
      symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
      await refuse(copy, `${VERSION} has its tag: write the next version into `);
      await run('git', ['tag', '--delete', `v${VERSION}`], { cwd: copy });
      writeFileSync(join(copy, 'CHANGELOG.md'), '# Changelog\n\n## 0.1.0\n\n- An entry.\n');
      await refuse(copy, `CHANGELOG.md has no section "## ${VERSION}".`, '--preview');
      writeFileSync(join(copy, 'CHANGELOG.md'), `# Changelog\n\n## ${VERSION}\n\n- An entry.\n`);
      await refuse(copy, 'Commit these first, or take them back:\n M CHANGELOG.md');
      const { homepage, ...others } = JSON.parse(readFileSync(join(copy, 'package.json'), 'utf8'));
      expect(homepage).toBeDefined();
      writeFileSync(join(copy, 'package.json'), JSON.stringify(others));
      await refuse(copy, 'The package.json at the top says no homepage. ');
    });
  });

  describe('the owner’s names', () => {
    const owner = { name: '@some-scope/workspace', repository: 'https://git.test/some.git' };

    test('are in every package, which says where in the repository it is', () => {
      const [homepage, bugs] = ['https://some.test', 'https://git.test/bugs'];
      const repository = { type: 'git', url: owner.repository, directory: 'sdk' };
      expect(nameOwner({ ...owner, homepage, bugs }, 'sdk')).toEqual({ repository, homepage, bugs });
      expect(scopeOf(owner)).toBe('@some-scope');
    });

    test('are missed by their names', () => {
      expect(listMissingNames(owner)).toEqual(['homepage', 'bugs']);
      expect(nameOwner({ name: '@x/y' }, 'sdk')).toEqual({});
    });
  });

  describe('the package of the server', () => {
    let unpacked: string;
    let packed: readonly string[];
    beforeAll(async () => {
      const tarball = join(released(), `task-gateway-server-${VERSION}.tgz`);
      await run('tar', ['-xzf', tarball, '-C', folder()]);
      unpacked = join(folder(), 'package');
      packed = readdirSync(unpacked, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => relative(unpacked, join(entry.parentPath, entry.name)));
      // As they are installed here: its packages, and those that it has in other versions.
      symlinkSync(join(ROOT, 'node_modules'), join(folder(), 'node_modules'));
      symlinkSync(join(ROOT, 'server/node_modules'), join(unpacked, 'node_modules'));
    });

    test('has every program, script and page that the server has, and nothing else', () => {
      const served = files.filter((file) => /^generated\/(console|docs)\//.test(file));
      const scripts = files.filter((file) => file.endsWith('.lua'));
      expect(scripts.length).toBeGreaterThan(20);
      const needed = [...served, ...scripts, 'server/node-version.js', 'server/process-setup.js'];
      const own = ['bin/task-gateway-server.js', 'package.json'];
      const pages = ['LICENSE', 'README.md', 'OPERATING.md', 'SETTINGS.md'];
      const configurations = files.filter((file) => file.startsWith('server/operating/'));
      const others = [...own, ...pages, ...configurations.map((file) => file.slice('server/'.length))];
      const compiled = packed.filter((file) => /^dist\/server\/.*\.js$/.test(file));
      const expected = [...needed.map((file) => `dist/${file}`), ...compiled, ...others];
      expect(packed.toSorted()).toEqual([...new Set(expected)].sort());
      for (const entry of ['main', 'backup', 'engines/sqlite/writer-thread'])
        expect(compiled).toContain(`dist/server/${entry}.js`);
      for (const file of compiled.filter((one) => !needed.includes(one.slice('dist/'.length))))
        expect(files).toContain(file.slice('dist/'.length).replace(/\.js$/, '.ts'));
    });

    test('needs exactly the packages that its programs import', () => {
      const programs = packed.filter((file) => /^dist\/server\/.*\.js$/.test(file));
      const specifiers = programs.flatMap((file) => {
        const text = readFileSync(join(unpacked, file), 'utf8');
        const pattern =
          /(?:^(?:import|export) .*from |\bimport\(|\bresolve\(|\(import\.meta\.url\)\(\s*)['`]((?:@[\w-]+\/)?[a-z][\w-]*)/gm;
        return [...text.matchAll(pattern)].map(([, name = '']) => name);
      });
      // `node:fs` and the like come with Node.
      const imported = new Set(specifiers.filter((name) => name !== 'node'));
      const { dependencies } = JSON.parse(readFileSync(join(unpacked, 'package.json'), 'utf8'));
      expect([...imported].sort()).toEqual(Object.keys(dependencies).sort());
    });

    test('says to its user what it is, and how it is started', () => {
      expect(readFileSync(join(unpacked, 'README.md'), 'utf8')).toBe(read('server/PACKAGE.md'));
      expect(read('server/PACKAGE.md')).toContain('```sh\nnpx @task-gateway/server\n```');
    });

    test('contains no path of the machine it was built on', () => {
      for (const file of packed)
        expect(readFileSync(join(unpacked, file), 'utf8').includes(ROOT), file).toBe(false);
    });

    test('serves from Redis, where it finds its scripts', { tags: 'redis' }, async () => {
      const redis = await startRedis();
      onTestFinished(() => redis.dispose());
      const program = join(unpacked, 'bin/task-gateway-server.js');
      const gateway = await startGateway({ STORE: redis.url }, [], program);
      onTestFinished(async () => void (await gateway.stop()));
      // The command replaced itself by a process with the flag, under its id.
      const words = readFileSync(`/proc/${gateway.pid}/cmdline`, 'utf8').split('\0');
      expect(words).toContain('--max-semi-space-size=16');
      const id = await submit(gateway.baseUrl, { queue_timeout: 60 });
      expect((await get(gateway.baseUrl, `/api/cli/tasks/${id}`)).body).toMatchObject({ status: 'pending' });
    });
  });
}
