/** A raw connection: bytes as they go over the wire, for what no HTTP client would send. */
import { connect, type Socket } from 'node:net';

export type Wire = {
  readonly socket: Socket;
  write(bytes: string | Uint8Array): void;
  /** Everything that came, as soon as the pattern is found in it or the other side has closed. */
  readUntil(pattern: RegExp): Promise<string>;
  /** Everything that came until the other side closed. */
  readAll(): Promise<string>;
  isClosed(): boolean;
  close(): void;
};

/** Opens a connection to a port of the loopback. */
export async function openWire(port: number): Promise<Wire> {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  let isClosed = false;
  let wake = (): void => {};
  socket.on('data', (chunk) => {
    text += chunk.toString('utf8');
    wake();
  });
  for (const event of ['end', 'close', 'error']) {
    socket.on(event, () => {
      isClosed = true;
      wake();
    });
  }
  await new Promise<void>((resolve) => socket.once('connect', resolve));
  const readUntil = async (pattern: RegExp): Promise<string> => {
    while (!pattern.test(text) && !isClosed) await new Promise<void>((resolve) => (wake = resolve));
    return text;
  };
  return {
    socket,
    write: (bytes) => socket.write(bytes),
    readUntil,
    readAll: () => readUntil(/(?!)/),
    isClosed: () => isClosed,
    close: () => socket.destroy(),
  };
}

/** One exchange: sends the bytes and reads until the server has closed. */
export async function exchange(port: number, bytes: string | Uint8Array): Promise<string> {
  const wire = await openWire(port);
  wire.write(bytes);
  const text = await wire.readAll();
  wire.close();
  return text;
}
