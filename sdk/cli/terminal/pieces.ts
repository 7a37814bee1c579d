/** Prints the pieces of a task's output: text as it is, or each piece as a line of JSON. */
import type { OutputPiece, Question } from '../../contract.ts';
import { type OutputFormat, renderJson } from './output.ts';
import { splitUnfinished } from './safe-text.ts';
import type { Terminal } from './terminal.ts';

export type PiecePrinter = {
  /** Prints a piece after the earlier ones. Rejects if standard output can't be written. */
  print(piece: OutputPiece): Promise<void>;
};

/**
 * Creates a printer. As `table` it prints texts as they were written, and data as lines of JSON; standard
 * error says what the agent asks, where the output began anew and what is missing. In the other formats each
 * piece, and the end, is a line of JSON. If the questions are not asked here, `describeQuestion` says how to
 * answer one.
 */
export function createPiecePrinter(
  terminal: Terminal,
  format: OutputFormat,
  describeQuestion: (question: Question) => string | undefined,
): PiecePrinter {
  /** Whether the last text had no line break at its end. */
  let isWithinLine = false;
  /** On a terminal, the end of the last text, if it means something only with the next one. */
  let unfinished = '';

  async function printText(written: string): Promise<void> {
    const [text, rest] = terminal.out.isTty ? splitUnfinished(unfinished + written) : [written, ''];
    unfinished = rest;
    if (text === '') return;
    isWithinLine = !text.endsWith('\n');
    await terminal.print(text);
  }

  /** Ends the line on a terminal, so that what follows stands alone; a file gets only the agent's text. */
  async function endLine(): Promise<void> {
    unfinished = '';
    if (isWithinLine && terminal.out.isTty) await printText('\n');
  }

  return {
    async print(piece) {
      if (format !== 'table') {
        await terminal.print(renderJson(piece, 'jsonl'));
        return;
      }
      if (piece.text !== undefined) await printText(piece.text);
      if (piece.data !== undefined) {
        await printText(`${isWithinLine ? '\n' : ''}${renderJson(piece.data, 'jsonl')}`);
      }
      if (piece.question) {
        await endLine();
        terminal.logLines(`The agent asks: ${piece.question.prompt}`);
        const how = describeQuestion(piece.question);
        if (how) terminal.log(`Answer it with: ${how}`);
      }
      if (piece.answer) {
        await endLine();
        terminal.log(`"${piece.answer.key}" was answered: ${JSON.stringify(piece.answer.answer)}`);
      }
      if (piece.reset) {
        await endLine();
        terminal.log(`${piece.agent_id} begins anew: what was printed before this line is void.`);
      }
      if (!piece.end) return;
      await endLine();
      const why = piece.missing && (MISSING.get(piece.missing) ?? piece.missing);
      if (why) terminal.log(`The output is not whole: ${why}.`);
    },
  };
}

const MISSING: ReadonlyMap<string, string> = new Map([
  ['truncated', 'the agent wrote more than the gateway keeps of a task'],
  ['removed', 'it was removed to make room for others'],
]);
