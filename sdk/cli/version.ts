/** The version of this package, which is also the version of the command. */
import { createRequire } from 'node:module';

const manifest: { readonly version: string } = createRequire(import.meta.url)(
  '@task-gateway/sdk/package.json',
);

/** As in package.json, for example `1.0.0`. */
export const VERSION = manifest.version;
