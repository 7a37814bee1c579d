/** The thread that looks through the database file once after each start; it tells what it found and ends. */
import { parentPort, workerData } from 'node:worker_threads';
import { findDamage } from './inspection.ts';

if (!parentPort) throw new Error('The inspection runs as a thread of the gateway only.');
parentPort.postMessage(await findDamage(String(workerData)));
