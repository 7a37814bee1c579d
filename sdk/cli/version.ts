/** The version of this package, and so of the command. */
import { createRequire } from 'node:module';

const manifest: { readonly version: string } = createRequire(import.meta.url)(
  '@task-gateway/sdk/package.json',
);

export const VERSION = manifest.version;
