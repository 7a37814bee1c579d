/** Explains to a person why a gateway did not start: what was wrong, and what to write instead. */
import { messageOf } from './async/error-message.ts';

type ListenAddress = { readonly host: string; readonly port: number };

/**
 * Describes an error that ended the start. For an error of listening, such as `EADDRINUSE`, the sentence says
 * what to do; else it is the error's message.
 */
export function describeStartFailure(error: unknown, { host, port }: ListenAddress): string {
  switch (readListenCode(error)) {
    case 'EADDRINUSE':
      return (
        `Port ${port} of ${host} is in use by another process, most likely a gateway that runs already. ` +
        `Stop that process ("ss -ltnp" or "lsof -i :${port}" shows it), or choose another port: ` +
        `PORT=${port === 65_535 ? port - 1 : port + 1}; 0 takes any free one.`
      );
    case 'EACCES':
      return `This user may not listen on port ${port}. Choose one above 1023: PORT=8080.`;
    case 'EADDRNOTAVAIL':
      return `This machine does not have the address ${host}. Set HOST to one of its own, such as 127.0.0.1 or 0.0.0.0.`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `The name ${host} has no address. Set HOST to an address of this machine, such as 127.0.0.1 or 0.0.0.0.`;
    default:
      return messageOf(error);
  }
}

/** The code of an error of listening or of looking up the host; null for any other error. */
function readListenCode(error: unknown): string | null {
  if (!(error instanceof Error) || !('code' in error) || !('syscall' in error)) return null;
  return error.syscall === 'listen' || error.syscall === 'getaddrinfo' ? String(error.code) : null;
}
