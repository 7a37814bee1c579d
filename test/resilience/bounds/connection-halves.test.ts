/** One remote address takes half of all connections at most; those of this machine share all. */
import { expect, onTestFinished, test } from 'vitest';
import { startGateway } from '../../harness/gateway-process.ts';
import { findTool } from '../../harness/tools.ts';
import { exchange, openConnection, type RawConnection } from '../../http/raw-connection.ts';

const PING = 'GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';

/** A gateway for 20 connections, and so many from this address of the machine. */
async function fill(host: string, address?: string): Promise<{ port: number; wires: RawConnection[] }> {
  const gateway = await startGateway({ HOST: host, CONNECTIONS_MAX: '20' });
  onTestFinished(async () => void (await gateway.stop()));
  const port = Number(new URL(gateway.baseUrl).port);
  const wires = await Promise.all(Array.from({ length: 20 }, () => openConnection(port, address)));
  onTestFinished(() => {
    for (const wire of wires) wire.close();
  });
  return { port, wires };
}

const countClosed = (wires: readonly RawConnection[]): number =>
  wires.filter((wire) => wire.isClosed()).length;

test('one address has half, and another connects as before', { tags: 'second-address' }, async () => {
  const { port, wires } = await fill('0.0.0.0', findTool('second-address') ?? '');
  await expect.poll(() => countClosed(wires)).toBe(10);
  for (let n = 0; n < 20; n += 1) expect(await exchange(port, PING)).toMatch(/200 OK/);
});

test('callers on this machine have all of them among themselves', async () => {
  const { wires } = await fill('127.0.0.1');
  for (const wire of wires.slice(1)) wire.write('GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await Promise.all(wires.slice(1).map((wire) => wire.readUntil(/200 OK/)));
  expect(countClosed(wires)).toBe(0);
});
