/** A raw connection: bytes as they go over the wire, for requests that no HTTP client would send. */
import { connect, type Socket } from 'node:net';

export type RawConnection = {
  readonly socket: Socket;
  write(bytes: string | Uint8Array): void;
  /** Resolves with everything received, once the pattern is found in it or the server has closed. */
  readUntil(pattern: RegExp): Promise<string>;
  /** Resolves with everything received when the server has closed. */
  readAll(): Promise<string>;
  isClosed(): boolean;
  close(): void;
};

/** Opens a connection to a port of the loopback interface, or of another address of this machine. */
export async function openConnection(port: number, host = '127.0.0.1'): Promise<RawConnection> {
  const socket = connect(port, host);
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

/** Sends the bytes on a connection of their own and reads until the server has closed it. */
export async function exchange(port: number, bytes: string | Uint8Array): Promise<string> {
  const connection = await openConnection(port);
  connection.write(bytes);
  const text = await connection.readAll();
  connection.close();
  return text;
}
