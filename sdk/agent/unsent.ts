/**
 * The pieces of an output before the gateway has them, in their order: texts that are joined, data and
 * questions. They are bounded; a text says how much was lost.
 */
import type { Question, WrittenPiece } from '../contract.ts';
import { type ApiError, InvalidOptionError } from '../errors.ts';

/** A text of this many characters is a piece. As JSON none is larger than a call, whatever it holds. */
const TEXT_CHARS_MAX = 4_096;
/** The bytes of one call's pieces as JSON, and so of data or a question. The gateway takes 64 KiB. */
const CALL_BYTES_MAX = 60_000;
const CALL_PIECES_MAX = 100;
/** The levels of one piece. The gateway takes a body of 100, of which the body and its `pieces` are two. */
const PIECE_DEPTH_MAX = 98;
/** How many characters may be unsent before `write` waits. */
const UNSENT_MAX = 1_048_576;

/**
 * A piece that is not stored yet, with its characters: a text, which may grow until it is sent, data, or a
 * question and who waits for it.
 */
export type Unsent = {
  text: string | undefined;
  readonly data?: unknown;
  chars: number;
  readonly question?: Question;
  readonly onSent?: (sent: Sent) => void;
};

/**
 * `full`: the output has reached its limit, and takes questions alone. `over`: nothing more is taken. An
 * error: the gateway refuses the question.
 */
export type Sent = 'stored' | 'full' | 'over' | ApiError;

/** Creates the pieces that are not stored yet, in their order. */
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
    /** Whether all that waits is one text, to which more may come. */
    canGrow(): boolean {
      const [first] = pending;
      return pending.length === 1 && first?.text !== undefined && first.chars < TEXT_CHARS_MAX;
    },
    /** Adds a text or data, or counts what is lost where there is too much. */
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
     * Removes those that fit in one call; they count until they are dropped. A question has a call of its
     * own: if the gateway refuses it, all else is stored.
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
    /** Counts pieces no longer, and adds behind the others how much was lost meanwhile. */
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

/** The beginning of a text, of about this many characters: never half of a character of two. */
function cutText(text: string, chars: number): string {
  const code = text.charCodeAt(chars - 1);
  return text.slice(0, code >= 0xd800 && code < 0xdc00 ? chars + 1 : chars);
}

/** A copy of the data, which later changes of it do not reach. */
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

/** Whether a value has more levels of objects and arrays than these. Goes no deeper itself. */
function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((one) => isDeeper(one, levels - 1));
}
