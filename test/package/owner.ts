/**
 * Who publishes, as the package.json at the top says it: the scope in its name, and `repository`, `homepage`
 * and `bugs`, which every package gets. Only the owner of these names can say them.
 */

export type Owner = {
  readonly name: string;
  readonly repository?: string | { readonly type: string; readonly url: string };
  readonly homepage?: string;
  readonly bugs?: string | { readonly url: string };
};

const NAMES = ['repository', 'homepage', 'bugs'] as const;

/** The scope of all packages: `@task-gateway`. */
export function scopeOf({ name }: Owner): string {
  return name.replace(/\/.*/, '');
}

/** The names that are missing, and without which nothing is to be published. */
export function listMissingNames(owner: Owner): readonly string[] {
  return NAMES.filter((name) => owner[name] === undefined);
}

/** The owner's names as the manifest of the package in this folder has them. */
export function nameOwner(owner: Owner, folder: string): Readonly<Record<string, unknown>> {
  const { repository } = owner;
  const place = typeof repository === 'string' ? { type: 'git', url: repository } : repository;
  const given = NAMES.filter((name) => owner[name] !== undefined);
  return Object.fromEntries(
    given.map((name) => [name, name === 'repository' ? { ...place, directory: folder } : owner[name]]),
  );
}
