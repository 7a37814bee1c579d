/**
 * The end of a task's output as it is drawn: joined texts, data, questions with their answers, and where the
 * work began anew. An agent may write any amount, so the tail is bounded. Pure.
 */
import type { OutputEnd, OutputPiece, Question, QuestionAnswer } from '@task-gateway/sdk';

/**
 * A part that is drawn by itself; `id` counts the parts. A text ends with a line, because each part has its
 * own layout.
 */
export type TailBlock = {
  readonly id: number;
  /** Whether the work began anew after this block. */
  readonly isVoid: boolean;
} & (
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'data'; readonly data: unknown; readonly chars: number }
  | { readonly kind: 'question'; readonly prompt: string }
  | { readonly kind: 'answer'; readonly given: QuestionAnswer }
  | { readonly kind: 'reset'; readonly agent_id: string }
);

export type Tail = {
  readonly blocks: readonly TailBlock[];
  readonly chars: number;
  /** The end of the last text, if it needs the next text to mean something. */
  readonly unfinished: string;
  /** Whether earlier blocks were left out. */
  readonly isCut: boolean;
  /** The number of the last piece, 0 before the first. */
  readonly last: number;
  /** The questions that wait for an answer. */
  readonly open: readonly Question[];
  /** The end, once it has been read. */
  readonly end: OutputEnd | null;
};

export const EMPTY_TAIL: Tail = {
  blocks: [],
  chars: 0,
  unfinished: '',
  isCut: false,
  last: 0,
  open: [],
  end: null,
};

/** About as much as a person reads back: 128 KiB, or 400 blocks. */
const CHARS_MAX = 131_072;
const BLOCKS_MAX = 400;
/** A longer text is cut into blocks, so that each piece changes little of the page. */
const BLOCK_CHARS = 4_096;
/** Sequences that set the colours or the title of a terminal, or move its cursor. */
const SEQUENCES = /(?![\t\n\r])\p{Control}(?:\[[\d;?]*[ -/]*[@-~]|\][^\p{Control}]*\p{Control}\\?)/gu;
const ESCAPE = '\u001b';
/** Ends that need what follows: a carriage return, or half a sequence. */
const UNFINISHED = new RegExp(`(?:\\r|${ESCAPE}(?:\\[[\\d;?]*|\\][^\\p{Control}]{0,256})?)$`, 'u');
/** Characters that are invisible, or change the direction of what follows. */
const HIDDEN = /(?![\t\n\r])\p{Control}|[\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu;

/** Adds pieces to the tail. */
export function extendTail(tail: Tail, pieces: readonly OutputPiece[]): Tail {
  const blocks = [...tail.blocks];
  let { chars, unfinished, isCut, last, open, end } = tail;
  for (const piece of pieces) {
    last = piece.n;
    open = updateOpen(open, piece);
    if (piece.end) end = piece;
    else if (piece.reset) {
      for (const [index, one] of blocks.entries()) blocks[index] = { ...one, isVoid: true };
      blocks.push({ id: countOn(blocks), isVoid: false, kind: 'reset', agent_id: piece.agent_id });
    } else if (piece.question) {
      const prompt = showOutput(piece.question.prompt);
      blocks.push({ id: countOn(blocks), isVoid: false, kind: 'question', prompt });
    } else if (piece.answer) {
      blocks.push({ id: countOn(blocks), isVoid: false, kind: 'answer', given: piece.answer });
    } else if (piece.text !== undefined) {
      const written = unfinished + piece.text;
      unfinished = UNFINISHED.exec(written)?.[0] ?? '';
      chars += addText(blocks, written.slice(0, written.length - unfinished.length));
    } else if ('data' in piece) {
      const size = JSON.stringify(piece.data)?.length ?? 0;
      chars += size;
      blocks.push({ id: countOn(blocks), isVoid: false, kind: 'data', data: piece.data, chars: size });
    }
  }
  while (blocks.length > 1 && (chars > CHARS_MAX || blocks.length > BLOCKS_MAX)) {
    const first = blocks.shift();
    chars -= first?.kind === 'text' ? first.text.length : first?.kind === 'data' ? first.chars : 0;
    isCut = true;
  }
  return { blocks, chars, unfinished, isCut, last, open, end };
}

/** The open questions after a piece. An agent that begins anew has asked nothing yet. */
function updateOpen(open: readonly Question[], piece: OutputPiece): readonly Question[] {
  if (piece.reset || piece.end) return [];
  const key = piece.question?.key ?? piece.answer?.key;
  if (key === undefined) return open;
  const others = open.filter((one) => one.key !== key);
  return piece.question ? [...others, piece.question] : others;
}

const countOn = (blocks: readonly TailBlock[]): number => (blocks.at(-1)?.id ?? 0) + 1;

/** Adds a text. Returns by how many characters the blocks have grown. */
function addText(blocks: TailBlock[], text: string): number {
  const before = blocks.at(-1);
  const beforeText = before?.kind === 'text' ? before.text : '';
  const whole = overwriteLines(beforeText + showOutput(text));
  const id = before?.kind === 'text' ? before.id : countOn(blocks);
  if (before?.kind === 'text') blocks.pop();
  const parts = cutLines(whole);
  for (const [index, part] of parts.entries()) {
    blocks.push({ id: id + index, isVoid: false, kind: 'text', text: part });
  }
  return whole.length - beforeText.length;
}

/** A carriage return overwrites its line, so that a progress bar stays one line. */
function overwriteLines(text: string): string {
  if (!text.includes('\r')) return text;
  const lines = text.split('\n');
  return lines.map((line) => line.slice(line.lastIndexOf('\r') + 1)).join('\n');
}

/**
 * Cuts a text into parts, behind lines or within a line that is too long. Only the last part may still grow.
 */
function cutLines(text: string): readonly string[] {
  const parts: string[] = [];
  let from = 0;
  while (text.length - from > BLOCK_CHARS) {
    const line = text.lastIndexOf('\n', from + BLOCK_CHARS) + 1;
    const to = line > from ? line : from + BLOCK_CHARS;
    parts.push(text.slice(from, to));
    from = to;
  }
  return [...parts, text.slice(from)];
}

/**
 * Removes what a terminal would obey, except carriage returns. Writes invisible or direction-changing
 * characters as their codes.
 */
export function showOutput(text: string): string {
  return text
    .replace(/\r\n/g, '\n')
    .replace(SEQUENCES, '')
    .replace(HIDDEN, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
