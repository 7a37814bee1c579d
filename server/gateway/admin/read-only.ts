/** The error of a call that would change something while the console is read-only. */
import { GatewayError } from '../../ports/gateway.ts';

export function readOnly(): GatewayError {
  return new GatewayError(
    'read_only',
    'This gateway’s console is read-only. On the gateway set CONSOLE to `on`. Single tasks can be cancelled with the gateway secret.',
  );
}
