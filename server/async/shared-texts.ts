/**
 * Texts that many hold, such as tags: equal ones are one string in memory, as long as one of them is there.
 * Without it each task and each agent would get copies of its own when it is read.
 *
 * Cost: an entry of about 100 bytes for each different text.
 */

export type SharedTexts = {
  /**
   * The same texts, as the strings in memory if they are held already. Each is held until it is given back.
   */
  hold(texts: readonly string[]): readonly string[];
  giveBack(texts: readonly string[]): void;
  /** How many hold the text. */
  holders(text: string): number;
  /** How many different texts are held, and how many characters they have. */
  count(): number;
  chars(): number;
};

/** Creates it; nothing is held. */
export function createSharedTexts(): SharedTexts {
  const held = new Map<string, { readonly text: string; holders: number }>();
  let chars = 0;

  function holdOne(text: string): string {
    const known = held.get(text);
    if (known) {
      known.holders += 1;
      return known.text;
    }
    held.set(text, { text, holders: 1 });
    chars += text.length;
    return text;
  }

  return {
    hold: (texts) => texts.map(holdOne),
    giveBack(texts) {
      for (const text of texts) {
        const known = held.get(text);
        if (!known) continue;
        known.holders -= 1;
        if (known.holders > 0) continue;
        held.delete(text);
        chars -= text.length;
      }
    },
    holders: (text) => held.get(text)?.holders ?? 0,
    count: () => held.size,
    chars: () => chars,
  };
}
