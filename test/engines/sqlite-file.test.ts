/** The store’s conformance on the SQLite engine, with a file that its own thread writes. */
import { describeStore } from './conformance.ts';
import { createThreadSubject } from './sqlite-under-test.ts';

describeStore('the SQLite engine on sqlite:', createThreadSubject);
