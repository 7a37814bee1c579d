/**
 * Connections to Redis on which a reply comes only after every message that was published before it. In the
 * gateway either may come first; with a fixed order a test can say after a call which notifications came.
 */
import { connectPrimary, type RedisClient } from '../../server/engines/redis/client/client.ts';

/** Creates a way to connect, for the stores of one test. */
export function createOrderedConnect(): typeof connectPrimary {
  const listening = new Set<RedisClient>();
  const receiveAll = async (): Promise<void> => {
    await Promise.all([...listening].map((one) => one.send(['PING']).catch(() => undefined)));
  };
  return async (address, options) => {
    const onGone = (reason: string): void => {
      listening.delete(client);
      options.onGone(reason);
    };
    const client = await connectPrimary(address, { ...options, onGone });
    if (options.use === 'notifications') {
      listening.add(client);
      const destroy = (): void => {
        listening.delete(client);
        client.destroy();
      };
      return { ...client, destroy };
    }
    return { ...client, send: (command) => client.send(command).finally(receiveAll) };
  };
}
