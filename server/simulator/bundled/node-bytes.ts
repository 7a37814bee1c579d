/**
 * The `Buffer` of the simulator's bundle: Node's, if there is Node; else the part of it
 * which a gateway in memory uses, over `Uint8Array`. The bundle takes it in place of the global.
 */
type Encoding = 'utf8' | 'binary' | 'base64' | 'base64url' | 'hex';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

class Bytes extends Uint8Array {
  /** Unlike `Uint8Array.from` it takes texts. */
  static override from(given: unknown, encoding?: unknown): Bytes {
    if (typeof given === 'string') return wrap(encode(given, (encoding ?? 'utf8') as Encoding));
    return given instanceof ArrayBuffer ? new Bytes(given) : wrap(new Uint8Array(given as ArrayLike<number>));
  }

  static alloc(length: number): Bytes {
    return new Bytes(length);
  }

  static allocUnsafe(length: number): Bytes {
    return new Bytes(length);
  }

  static isBuffer(value: unknown): value is Bytes {
    return value instanceof Bytes;
  }

  static byteLength(given: string | Uint8Array): number {
    return typeof given === 'string' ? encoder.encode(given).length : given.byteLength;
  }

  static concat(parts: readonly Uint8Array[]): Bytes {
    const whole = new Bytes(parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of parts) {
      whole.set(part, at);
      at += part.length;
    }
    return whole;
  }

  /** Writes a text and returns how many bytes it took. */
  write(text: string, at = 0): number {
    return encoder.encodeInto(text, this.subarray(at)).written;
  }

  copy(target: Uint8Array, at = 0): number {
    target.set(this, at);
    return this.length;
  }

  override toString(encoding: Encoding = 'utf8'): string {
    switch (encoding) {
      case 'utf8':
        return decoder.decode(this);
      case 'hex':
        return [...this].map((byte) => byte.toString(16).padStart(2, '0')).join('');
      case 'binary':
        return toBinary(this);
      case 'base64':
        return btoa(toBinary(this));
      case 'base64url':
        return btoa(toBinary(this)).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
    }
  }
}

function wrap(bytes: Uint8Array): Bytes {
  return new Bytes(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength);
}

function encode(text: string, encoding: Encoding): Uint8Array {
  switch (encoding) {
    case 'utf8':
      return encoder.encode(text);
    case 'hex':
      return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
    case 'binary':
      return fromBinary(text);
    case 'base64':
    case 'base64url':
      return fromBase64(text);
  }
}

/** As Node reads it: if a character is not base64, it is skipped. */
function fromBase64(text: string): Uint8Array {
  const digits = text
    .replaceAll('-', '+')
    .replaceAll('_', '/')
    .replaceAll(/[^A-Za-z0-9+/]/g, '');
  const whole = digits.length % 4 === 1 ? digits.slice(0, -1) : digits;
  return fromBinary(atob(whole.padEnd(Math.ceil(whole.length / 4) * 4, '=')));
}

function fromBinary(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0) & 0xff);
}

function toBinary(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}

const chosen = (Reflect.get(globalThis, 'Buffer') ?? Bytes) as unknown as typeof Bytes;

export { chosen as Buffer };

/** A tick of the event loop: `setImmediate`, else a message to oneself, which no browser delays. */
type Tick = (work: () => void) => void;

export const setImmediate: Tick =
  (Reflect.get(globalThis, 'setImmediate') as Tick | undefined) ?? createTicks();

function createTicks(): Tick {
  const { port1, port2 } = new MessageChannel();
  const waiting: (() => void)[] = [];
  port1.onmessage = () => waiting.shift()?.();
  return (work) => {
    waiting.push(work);
    port2.postMessage(null);
  };
}
