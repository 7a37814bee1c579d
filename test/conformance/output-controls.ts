/** The negative controls of what the document says about the output of a task (L1). */
import type { Control } from './controls.ts';
import { isFields } from './findings.ts';
import { refuseAdmin, unbuffered } from './operation-controls.ts';
import {
  changeBodies,
  changeCode,
  changeEvents,
  changeResponses,
  refuseRequests,
  takeRefused,
} from './planted-faults.ts';
import { piecesOf } from './played-outputs.ts';

const WRITE = /^POST .*\/output$/;
const READ = /^GET .*\/output$/;

/** Changes the pieces of pages. */
const changePieces = (change: (piece: Readonly<Record<string, unknown>>) => unknown) =>
  changeBodies(READ, (page) => ({ ...page, pieces: piecesOf(page).map(change) }));

const GUIDE: Readonly<Record<string, Control>> = {
  'output.with-writeoutput-an-agent': {
    fault: 'Data comes back as a text.',
    plant: changePieces((piece) =>
      isFields(piece.data) ? { n: piece.n, text: JSON.stringify(piece.data) } : piece,
    ),
  },
  'output.a-task-without-output': {
    fault: 'Progress is not pushed.',
    plant: changeEvents((frame) => (frame.progress === 40 ? [] : frame)),
  },
  'output.the-gateway-numbers-the': {
    fault: 'Each writer’s pieces are numbered from 1.',
    plant: changePieces((piece) => (Number(piece.n) > 3 ? { ...piece, n: Number(piece.n) - 3 } : piece)),
  },
  'output.a-writer-counts-its': {
    fault: '`next` of a second writer counts all pieces.',
    plant: changeResponses(WRITE, (answer, sent) => ({
      ...answer,
      body: sent.includes('-second"') ? answer.body.replace('"next":1', '"next":4') : answer.body,
    })),
  },
  'output.those-that-it-has': {
    fault: 'A `from` that is too high is taken.',
    plant: takeRefused(WRITE, 422, /"from":5/),
  },
  'output.another-writer-begins-at': {
    fault: 'A second writer is refused at 0.',
    plant: changeResponses(WRITE, (answer, sent) =>
      /-second","from":0/.test(sent) ? { ...answer, status: 422 } : answer,
    ),
  },
  'output.if-there-are-pieces': {
    fault: 'Nothing says that another writer begins.',
    plant: changePieces((piece) => ('reset' in piece ? { n: piece.n, data: null } : piece)),
  },
  'output.a-writer-that-was': {
    fault: 'A writer that was replaced goes on.',
    plant: takeRefused(WRITE, 422, /-first"/),
  },
  'output.only-the-agent-that': { fault: 'Any agent may write.', plant: takeRefused(WRITE, 400) },
  'output.accepted-false-says-that': {
    fault: 'A write to a task that has ended says that it was accepted.',
    plant: changeBodies(WRITE, (receipt) =>
      receipt.status === 'running' ? receipt : { ...receipt, accepted: true },
    ),
  },
  'output.a-reader-continues-behind': {
    fault: '`after` is ignored on pages.',
    plant: (send) => (url, init) =>
      send('accept' in init.headers ? url : url.replace('after=3', 'after=0'), init),
  },
  'output.with-one-beyond-what': {
    fault: 'A `Last-Event-ID` that is no number is refused.',
    plant: refuseRequests(
      (_call, _url, { headers }) => headers['last-event-id'] === 'no-number',
      422,
      'validation_failed',
    ),
  },
  'output.a-stream-says-first': {
    fault: 'A stream begins with the pieces.',
    plant: changeEvents((frame) => (frame.progress === 0 ? [] : frame)),
  },
  'output.its-last-frame-is': {
    fault: 'The end has the number of the last piece.',
    plant: changeEvents((frame) => (frame.end === true ? { ...frame, n: Number(frame.n) - 1 } : frame)),
  },
  'output.missing-is-truncated-if': {
    fault: 'An output that reached its limit seems whole.',
    plant: changeBodies(READ, (page) => ({ ...page, missing: null })),
  },
};

const OPERATIONS: Readonly<Record<string, Control>> = {
  'readOutput.returns-the-output-of': {
    fault: 'A page says that nothing follows while the task runs.',
    plant: changeBodies(READ, (page) => ({ ...page, complete: true })),
  },
  'readOutput.with-wait-a-page': {
    fault: '`wait` is ignored.',
    plant: (send) => (url, init) => send(url.replace('&wait=60', ''), init),
  },
  'readOutput.the-administrator-s-secret': {
    fault: 'A reading does not take the administrator’s secret.',
    plant: refuseAdmin(READ),
  },
  'readOutput.a-stream-has-the': { fault: 'The stream may be buffered.', plant: unbuffered(READ) },
  'writeOutput.adds-pieces-to-the': {
    fault: 'A receipt has no `next`.',
    plant: changeBodies(WRITE, ({ next: _, ...receipt }) => receipt),
  },
  'writeOutput.repeat-the-same-call': {
    fault: 'A repeated write is refused.',
    plant: (send) => {
      const seen = new Set<string>();
      return changeResponses(WRITE, (answer, sent) => {
        const isRepeat = seen.has(sent);
        seen.add(sent);
        return isRepeat ? { ...answer, status: 409 } : answer;
      })(send);
    },
  },
  'writeOutput.a-write-is-contact': {
    fault: 'A write acknowledges nothing.',
    plant: changeBodies(/\/explain$/, (one) => ({ ...one, acknowledged: false })),
  },
  'writeOutput.on-404-task-not': {
    fault: 'An unknown agent has another code.',
    plant: changeCode(WRITE, 'agent_not_found', 'not_found'),
  },
};

/** The controls, by the requirement whose check must find the fault. */
export const OUTPUT_CONTROLS: Readonly<Record<string, Control>> = { ...GUIDE, ...OPERATIONS };
