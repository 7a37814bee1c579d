/**
 * Party A: a thread that writes all the output it can, from one address. Over each of its connections it
 * takes a task, fills its output with the largest calls, ends it and takes the next. A message ends it; it
 * answers with how often each status came, and whether a write was accepted.
 */
import { Agent, request } from 'node:http';
import { parentPort, workerData } from 'node:worker_threads';
import type { Call } from '../../contract/usual-calls.ts';
import { buildCall } from '../../contract/usual-calls.ts';

export type WritersOptions = {
  readonly baseUrl: string;
  readonly address: string;
  readonly secrets: { readonly gateway: string; readonly admin: string };
  readonly connections: number;
};

/** How often each status came, of a write with whether it was accepted. */
export type Written = Readonly<Record<string, number>>;

const { baseUrl, address, secrets, connections } = workerData as WritersOptions;
const agent = new Agent({ keepAlive: true, maxSockets: connections });
const agent_id = 'writers';
/** With the other fields of the body less than 64 KiB. */
const PIECES = [{ text: 'x'.repeat(65_000) }];
const seen: Record<string, number> = {};
let isOver = false;

function send({ method, path, headers, body }: Call): Promise<{ status: number; json: Reply }> {
  return new Promise((resolve, reject) => {
    const own = { ...headers, 'x-forwarded-for': address };
    const sent = request(baseUrl + path, { method, headers: own, agent }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, json: text === '' ? {} : JSON.parse(text) }),
      );
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

type Reply = Readonly<Record<string, unknown>>;

const ask = (...call: Parameters<typeof buildCall>) => send(buildCall(...call));

/** Fills the output of a task until it takes no more, then ends it. Refused calls are repeated at once. */
async function fillOne(): Promise<void> {
  const { status, json } = await ask('submitTask', secrets, { task_tags: ['filled'], timeout: 3_600 });
  if (status !== 200) return;
  const request_id = String(json.request_id);
  for (let from = 0; !isOver; ) {
    const body = { agent_id, request_id, from, pieces: PIECES };
    const written = await ask('writeOutput', secrets, body);
    const { accepted, code } = written.json;
    // The task may still wait for a moment.
    if (code === 'agent_mismatch') continue;
    const name = `${written.status} ${code ?? accepted}`;
    seen[name] = (seen[name] ?? 0) + 1;
    if (accepted === true) from += 1;
    else if (accepted === false) break;
  }
  await ask('reportResult', secrets, { agent_id, request_id });
}

async function fillAgain(): Promise<void> {
  while (!isOver) await fillOne();
}

parentPort?.once('message', () => {
  isOver = true;
});
const task = { agent_id, endpoint: 'pull', agent_tags: ['filled'], max_concurrent: 1_000 };
await ask('registerAgent', secrets, task);
const writing = Promise.all(Array.from({ length: connections }, fillAgain));
parentPort?.postMessage('begun');
await writing;
agent.destroy();
parentPort?.postMessage(seen satisfies Written);
