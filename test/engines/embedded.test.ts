/**
 * The embedded engine keeps the store port's promises: in memory, on a file, and on a file with its writer
 * thread.
 */
import { describeStore } from './conformance.ts';
import {
  createFileStoreUnderTest,
  createMemoryStoreUnderTest,
  createThreadStoreUnderTest,
} from './embedded-under-test.ts';

describeStore('the embedded engine in memory', createMemoryStoreUnderTest);
describeStore('the embedded engine on a file, in one thread', createFileStoreUnderTest);
describeStore('the embedded engine on a file, with its writer thread', createThreadStoreUnderTest);
