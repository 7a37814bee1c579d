/** An environment with its files, and what config makes of it. */
import { readConfig } from '../../server/config/config.ts';

export type Env = Readonly<Record<string, string>>;

export const SECRET = 'a-secret-of-32-characters-canary';
const files: Readonly<Record<string, string>> = {
  '/run/secrets/gateway': `${SECRET}\n`,
  '/run/secrets/windows': `${SECRET}\r\n`,
  '/run/secrets/empty': '\n',
  '/run/secrets/spaces': ' padded \n',
};
/** Files and chance as the tests want them. */
export const world = {
  readText: (file: string) => {
    const text = files[file];
    if (text === undefined) throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
    return text;
  },
  newSecret: () => 'drawn-at-random-for-this-run-only',
};

/** The configuration, which must be right. */
export function accept(env: Env) {
  const answer = readConfig(env, world);
  if (!answer.ok) throw new Error(answer.mistakes.join('\n'));
  return answer;
}

/** The mistakes, none if there are none. */
export function refuse(env: Env): readonly string[] {
  const answer = readConfig(env, world);
  return answer.ok ? [] : answer.mistakes;
}
