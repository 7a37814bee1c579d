// Prints Debian's packages of the tools that some tests need and that this machine lacks.
import { listMissingPackages } from '../test/harness/tools.ts';

for (const name of listMissingPackages()) console.log(name);
