/** A task's output as most suites of the gateway write and read it. */
import type { OutputItem } from '../../server/ports/gateway.ts';
import { NEVER, type World } from './world.ts';

/** Returns a piece of text as it is stored. */
export const text = (value: string): string => JSON.stringify({ text: value });
/** The reset before the pieces of another writer of agent A. */
export const RESET = JSON.stringify({ reset: true, agent_id: 'A' });

export type Write = Parameters<World['gateway']['writeOutput']>[0];

/** Writes texts for agent A, as writer `w` from its first piece on. */
export function write(
  { gateway }: World,
  request_id: string,
  texts: readonly string[],
  more: Partial<Write> = {},
): ReturnType<World['gateway']['writeOutput']> {
  return gateway.writeOutput({
    request_id,
    agent_id: 'A',
    writer: 'w',
    from: 0,
    pieces: texts.map(text),
    ...more,
  });
}

/** Reads a page of the output. */
export const readPage = ({ gateway }: World, request_id: string, after = 0, waitMs = 0) =>
  gateway.readOutput(request_id, after, waitMs, NEVER);

/** Returns the pieces of a task, without their numbers. */
export async function textsOf(world: World, request_id: string): Promise<readonly string[]> {
  return (await readPage(world, request_id)).pieces.map(({ json }) => json);
}

/** A reader, and all that it has got. */
export type Following = { readonly items: OutputItem[]; readonly ended: Promise<void>; leave(): void };

/** Follows the output; null if the reader already has the end. */
export async function follow({ gateway }: World, request_id: string, after = 0): Promise<Following | null> {
  const open = await gateway.followOutput(request_id, after);
  if (!open) return null;
  const leaving = new AbortController();
  const items: OutputItem[] = [];
  const take = async (): Promise<void> => {
    for await (const item of open(leaving.signal)) items.push(item);
  };
  return { items, ended: take(), leave: () => leaving.abort() };
}

/** Names what a reader got, in order: the numbers of pieces and of the end, and how the task stood. */
export function nameItems(items: readonly OutputItem[]): readonly string[] {
  return items.flatMap((item) => {
    if ('pieces' in item) return item.pieces.map(({ n }) => String(n));
    return 'n' in item ? [`end ${item.n} ${item.outcome}`] : [`${item.status} ${item.progress}`];
  });
}
