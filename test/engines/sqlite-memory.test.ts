/** The store’s conformance on the SQLite engine, with its tables in memory. */
import { describeStore } from './conformance.ts';
import { createMemorySubject } from './sqlite-under-test.ts';

describeStore('the SQLite engine on memory:', createMemorySubject);
