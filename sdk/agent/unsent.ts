/**
 * The pieces of an output that the gateway does not have yet, in their order: joined texts, data and
 * questions. Their number is bounded; a text says how much was lost.
 */
import type { Question, WrittenPiece } from '../contract.ts';
import { type ApiError, InvalidOptionError } from '../errors.ts';

/** A text of this many characters is a complete piece. Whatever it holds, its JSON fits in one call. */
const TEXT_CHARS_MAX = 4_096;
/** How many bytes of JSON the pieces of one call may have, and so a data. The gateway takes 64 KiB. */
const CALL_BYTES_MAX = 60_000;
const CALL_PIECES_MAX = 100;
/** How many levels one piece may have. The gateway takes 100; the body and its `pieces` are two of them. */
const PIECE_DEPTH_MAX = 98;
/** How many characters may be unsent before `write` waits. */
const UNSENT_MAX = 1_048_576;

/**
 * A piece that is not stored yet, with the number of its characters: a text, which may grow until it is sent,
 * data, or a question and who waits for it.
 */
export type Unsent = {
  text: string | undefined;
  readonly data?: unknown;
  chars: number;
  readonly question?: Question;
  readonly onSent?: (sent: Sent) => void;
};

/**
 * `full`: the output has reached its limit, and takes only questions. `over`: the gateway takes nothing more.
 * An error: the gateway refuses the question.
 */
export type Sent = 'stored' | 'full' | 'over' | ApiError;

/** Creates the list of the pieces that are not stored yet. */
export function createUnsent() {
  const pending: Unsent[] = [];
  let chars = 0;
  let lost = { chars: 0, data: 0 };

  function addText(text: string): void {
    chars += text.length;
    for (let rest = text; rest !== ''; ) {
      let last = pending.at(-1);
      if (last?.text === undefined || last.chars >= TEXT_CHARS_MAX) {
        last = { text: '', chars: 0 };
        pending.push(last);
      }
      const cut = cutText(rest, TEXT_CHARS_MAX - last.chars);
      last.text += cut;
      last.chars += cut.length;
      rest = rest.slice(cut.length);
    }
  }

  return {
    isEmpty: () => pending.length === 0,
    isFull: () => chars >= UNSENT_MAX,
    /** Whether the only piece that waits is a text, which may still grow. */
    canGrow(): boolean {
      const [first] = pending;
      return pending.length === 1 && first?.text !== undefined && first.chars < TEXT_CHARS_MAX;
    },
    /** Adds a text or data; if there is too much, counts what is lost. */
    add(piece: string | object): void {
      const data = typeof piece === 'string' ? undefined : copyData(piece);
      const isLost = chars >= UNSENT_MAX;
      if (isLost && typeof piece === 'string') lost.chars += piece.length;
      else if (isLost) lost.data += 1;
      else if (typeof piece === 'string') addText(piece);
      else if (data) {
        pending.push({ ...data, text: undefined });
        chars += data.chars;
      }
    },
    addQuestion(question: Question, onSent: (sent: Sent) => void): void {
      pending.push({ question, onSent, text: undefined, chars: 0 });
    },
    keepQuestions(): void {
      pending.splice(0, pending.length, ...pending.filter(({ question }) => question));
      chars = 0;
    },
    /**
     * Removes the pieces that fit in one call; they count until they are dropped. A question has a call of
     * its own, so that its refusal harms nothing else.
     */
    takeBatch(): readonly Unsent[] {
      let bytes = 0;
      const tooMany = pending.findIndex((one, index) => {
        bytes += countBytes(toWritten(one));
        const isApart = one.question !== undefined || pending[0]?.question !== undefined;
        return index > 0 && (isApart || index >= CALL_PIECES_MAX || bytes > CALL_BYTES_MAX);
      });
      return pending.splice(0, tooMany === -1 ? pending.length : tooMany);
    },
    /** Stops counting these pieces, and adds at the end how much was lost meanwhile. */
    drop(batch: readonly Unsent[]): void {
      for (const one of batch) chars -= one.chars;
      if (chars >= UNSENT_MAX) return;
      const what = [
        lost.chars > 0 && `${lost.chars} characters`,
        lost.data > 0 && `${lost.data} pieces of data`,
      ];
      const text = what.filter(Boolean).join(' and ');
      lost = { chars: 0, data: 0 };
      if (text) addText(`\n[${text} were lost: the handler did not wait for write()]\n`);
    },
  };
}

export function toWritten({ text, data, question }: Unsent): WrittenPiece {
  if (question) return { question };
  return text === undefined ? { data } : { text };
}

function countBytes(piece: WrittenPiece): number {
  return new TextEncoder().encode(JSON.stringify(piece)).length;
}

/** Returns the beginning of a text, of about this many characters, and never splits a character in two. */
function cutText(text: string, chars: number): string {
  const code = text.charCodeAt(chars - 1);
  return text.slice(0, code >= 0xd800 && code < 0xdc00 ? chars + 1 : chars);
}

/** Returns a copy of the data, so that later changes do not reach it. */
export function copyData(value: object): { readonly data: unknown; readonly chars: number } {
  let json: string | undefined;
  try {
    json = JSON.stringify(value);
  } catch (cause) {
    throw new InvalidOptionError('The data of an output can’t be written as JSON.', { cause });
  }
  if (json === undefined) throw new InvalidOptionError('The data of an output can’t be written as JSON.');
  const data: unknown = JSON.parse(json);
  requireSendable({ data }, 'The data of one piece of output');
  return { data, chars: json.length };
}

/** Throws if no call can hold the piece: the gateway would refuse the call, and with it all the rest. */
export function requireSendable(piece: WrittenPiece, what: string): void {
  if (countBytes(piece) <= CALL_BYTES_MAX && !isDeeper(piece, PIECE_DEPTH_MAX)) return;
  throw new InvalidOptionError(
    `${what} has at most ${CALL_BYTES_MAX} bytes as JSON, and at most ${PIECE_DEPTH_MAX - 1} levels of objects and arrays.`,
  );
}

/** Whether a value has more levels of objects and arrays than `levels`. Does not descend further itself. */
function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((one) => isDeeper(one, levels - 1));
}
