/** The thread that inspects the file. It posts the damage it found, then ends. */
import { parentPort, workerData } from 'node:worker_threads';
import { findDamage } from './inspection.ts';

if (!parentPort) throw new Error('The inspection runs only as a thread of the gateway.');
parentPort.postMessage(findDamage(String(workerData)));
