/**
 * What the HTTP chain (route, secret, validation, response) costs over bare node:http: CPU per request of a
 * submission and of a poll, in alternating rounds of one run. A separate process makes the load. Machines are
 * noisy: trust the ratios.
 *
 *   node test/http/chain-cost.ts [requests per round]
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { buildCall, type Call } from '../contract/usual-calls.ts';
import { ADMIN_SECRET, SECRET, startTestServer } from '../harness/http-server.ts';
import { createFakeGateway, FOUND, TASK } from './fake-gateway.ts';

const ROUNDS = 7;
const IN_FLIGHT = 8;
const secrets = { gateway: SECRET, admin: ADMIN_SECRET };
const calls: Readonly<Record<string, Call>> = {
  submit: buildCall('submitTask', secrets, { payload: { text: 'x'.repeat(200) } }),
  poll: buildCall('getTask', secrets, {}, '019a9f6e-7c1b-7d52-9f0e-3b6f5a1c2d4e'),
};

const [role, ...rest] = process.argv.slice(2);
if (role === 'load') makeLoad(Number(rest[0]));
else await compare(Number(role ?? 6_000));

/**
 * The load process: sends the requested number of calls, `IN_FLIGHT` at a time, and reports when all are
 * done.
 */
function makeLoad(port: number): void {
  const agent = new http.Agent({ keepAlive: true, maxSockets: IN_FLIGHT });
  const sendOne = (call: Call): Promise<void> =>
    new Promise((resolve, reject) => {
      const length =
        call.body === undefined ? {} : { 'content-length': String(Buffer.byteLength(call.body)) };
      const options = {
        port,
        agent,
        method: call.method,
        path: call.path,
        headers: { ...call.headers, ...length },
      };
      const request = http.request(options, (response) => {
        response.resume();
        if (response.statusCode !== 200) reject(new Error(`The status was ${response.statusCode}.`));
        response.on('end', resolve);
      });
      request.on('error', reject);
      request.end(call.body);
    });
  process.on('message', async ({ name, count }: { name: string; count: number }) => {
    const call = calls[name];
    if (!call) throw new Error(`There is no call ${name}.`);
    let remaining = count;
    const worker = async (): Promise<void> => {
      while (remaining-- > 0) await sendOne(call);
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
    process.send?.('done');
  });
  process.send?.('ready');
}

/** The least server with the same response: it parses the body and writes the task. */
function openBare(): Promise<number> {
  const server = http.createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      if (chunks.length > 0) JSON.parse(Buffer.concat(chunks).toString('utf8'));
      const text = JSON.stringify(TASK);
      res.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
      res.end(text);
    });
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}

async function compare(count: number): Promise<void> {
  const { submitTask, getTask, ...others } = createFakeGateway();
  const server = await startTestServer({
    ...others,
    submitTask: async () => TASK,
    getTask: async () => FOUND,
  });
  const loads = await Promise.all(
    [openBare(), Promise.resolve(server.port)].map(async (port) => await openLoad(await port)),
  );
  for (const name of Object.keys(calls)) {
    for (const load of loads) await measure(load, name, count);
    const ratios: number[] = [];
    const spent: number[][] = [[], []];
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const [index, load] of loads.entries()) spent[index]?.push(await measure(load, name, count));
      ratios.push((spent[1]?.at(-1) ?? 0) / (spent[0]?.at(-1) ?? 1));
    }
    const [bare, chain] = spent.map((one) => median(one).toFixed(1));
    console.log(`${name}: bare ${bare} µs, chain ${chain} µs, ratio ${median(ratios).toFixed(2)}`);
  }
  for (const load of loads) load.kill();
  process.exit(0);
}

async function openLoad(port: number): Promise<ChildProcess> {
  const child = fork(new URL(import.meta.url).pathname, ['load', String(port)]);
  await once(child, 'message');
  return child;
}

/** CPU of this process per request, in microseconds. */
async function measure(load: ChildProcess, name: string, count: number): Promise<number> {
  const before = process.cpuUsage();
  load.send({ name, count });
  await once(load, 'message');
  const { user, system } = process.cpuUsage(before);
  return (user + system) / count;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
