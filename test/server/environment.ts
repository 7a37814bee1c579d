/** Reads a configuration from an environment and files that a test sets. */
import { readConfig } from '../../server/config/config.ts';

export type Env = Readonly<Record<string, string>>;

export const SECRET = 'a-secret-of-32-characters-canary';
const files: Readonly<Record<string, string>> = {
  '/run/secrets/gateway': `${SECRET}\n`,
  '/run/secrets/windows': `${SECRET}\r\n`,
  '/run/secrets/both': `# of the gateway\nGATEWAY_AUTH=${SECRET}\r\nADMIN_AUTH=the=admin-secret-of-it\nPORT=9\n`,
  '/run/secrets/empty': '\n',
  '/run/secrets/two': `${SECRET} old-secret\n`,
  '/run/secrets/named-two': `GATEWAY_AUTH=other-secret\nADMIN_AUTH=${SECRET} old-secret\n`,
  '/run/secrets/lines': `${SECRET}\nold-secret\n`,
  '/run/secrets/store': 'redis://:p%40ss-of-redis@redis.test\n',
  '/run/secrets/spaces': ' padded \n',
};
/** Fixed files and a fixed generated secret. */
export const deps = {
  readText: (file: string) => {
    const text = Object.hasOwn(files, file) ? files[file] : undefined;
    if (text === undefined) throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
    return text;
  },
  newSecret: () => 'generated-at-random-for-this-run',
};

/** Returns the configuration and the warnings; throws when a setting is wrong. */
export function accept(env: Env) {
  const result = readConfig(env, deps);
  if (!result.ok) throw new Error(result.mistakes.join('\n'));
  return result;
}

/** Returns the mistakes; an empty list when every setting is valid. */
export function listMistakes(env: Env): readonly string[] {
  const result = readConfig(env, deps);
  return result.ok ? [] : result.mistakes;
}
