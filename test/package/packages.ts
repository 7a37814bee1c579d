/**
 * What is published, in the order in which it is: a package joins the release by an entry here. Each entry
 * says what the package needs of the others, and has a program that uses it where it is installed alone.
 */
import { REQUIRED, USED_CONFORMANCE, USED_CONTRACT, USED_SERVER, USED_SIMULATOR } from './programs.ts';

export type PublishedPackage = {
  /** The folder of its workspace. */
  readonly folder: string;
  /** What it is called behind the scope. */
  readonly name: string;
  /** The folders of the others that it needs. */
  readonly needs: readonly string[];
  /** The page that becomes its README.md; absent where its own is for its users. */
  readonly page?: string;
  /** A library's dependencies are ranges, which an application shares with others; else they are exact. */
  readonly isLibrary?: true;
  /** A program in CommonJS that fails where the package does not work. */
  readonly program: string;
};

export const PACKAGES: readonly PublishedPackage[] = [
  { folder: 'generated', name: 'contract', needs: [], program: USED_CONTRACT },
  { folder: 'sdk', name: 'sdk', needs: ['generated'], isLibrary: true, program: REQUIRED },
  { folder: 'server', name: 'server', needs: ['generated'], page: 'PACKAGE.md', program: USED_SERVER },
  { folder: 'server/simulator', name: 'simulator', needs: [], program: USED_SIMULATOR },
  { folder: 'test/conformance', name: 'conformance', needs: ['server/simulator'], program: USED_CONFORMANCE },
];
