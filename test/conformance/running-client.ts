/**
 * A client that runs its task with the SDK's `runTask`, on which the kit is tried. It shares the stream of
 * its session. With the word `answers` it shows what the agent writes, and answers. At SIGINT it cancels.
 */
import { createClient, type OutputPiece } from '../../sdk/index.ts';

const { TASK_TYPE = '', TASK_TAG = '', TASK_PAYLOAD = '{}', TASK_ANSWER = 'null' } = process.env;
const aborting = new AbortController();
process.once('SIGINT', () => aborting.abort());
const submission = { task_type: TASK_TYPE, task_tags: [TASK_TAG], payload: JSON.parse(TASK_PAYLOAD) };
const { signal } = aborting;
const reading = {
  onOutput: (piece: OutputPiece) => console.error(piece.text),
  onQuestion: () => JSON.parse(TASK_ANSWER),
};
try {
  const { result } = await createClient().runTask(submission, {
    signal,
    cancelOnAbort: true,
    ...(process.argv[2] === 'answers' && reading),
  });
  console.log(JSON.stringify(result));
} catch (error) {
  // The process ends when the cancellation has been sent.
  console.error(error);
  process.exitCode = 1;
}
