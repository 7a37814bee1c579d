/**
 * The store’s conformance on the SQLite engine, with a file that its own thread writes: what depends on the
 * disk, the thread, or the second connection that reads. `alike.test.ts` makes calls of every shape on it.
 */
import { describeStore } from './conformance.ts';
import { createThreadSubject } from './sqlite-under-test.ts';

describeStore('the SQLite engine on sqlite:', createThreadSubject, { isWhole: false });
