/** The checks of clients. Each looks at what the trials have seen. */

import { CLIENT_SCENARIOS, type ClientScenarioName, ELSEWHERE } from './client-scenarios.ts';
import {
  requireFailure,
  requirePause,
  requireRead,
  requireResumed,
  requireSuccess,
  streamsOf,
} from './ends-of-trials.ts';
import {
  Finding,
  isJsonObject,
  isUtf8,
  NotScored,
  printValue,
  requireEqual,
  requireThat,
} from './findings.ts';
import { READING_CHECKS } from './reading-checks.ts';
import type { Received } from './trial-gateway.ts';
import type { ClientCheck, LookAtTrial, Trial } from './trials-of-clients.ts';

const NAMES = Object.keys(CLIENT_SCENARIOS) as ClientScenarioName[];
const NO_POLLS = 'The client does not ask for its task.';
/** The least pause between polls that do not wait. */
const PAUSE_MS_MIN = 50;

/** Returns all trials. A trial in which the client submitted nothing fails the checks that look at it. */
function allTrials(look: LookAtTrial): readonly (Trial & { readonly name: ClientScenarioName })[] {
  look('plain');
  return NAMES.flatMap((name) => {
    try {
      return [{ name, ...look(name) }];
    } catch (error) {
      if (!(error instanceof Finding)) throw error;
      return [];
    }
  });
}

/** Requires the same content under the same key. */
function requireSame(later: Received, first: Received): void {
  const { auth: _new, ...body } = later.body;
  const { auth: _old, ...former } = first.body;
  requireEqual(body, former, 'The repeated submission');
  const [key, formerKey] = [keyOf(later), keyOf(first)];
  requireThat(formerKey !== undefined, 'A submission that was repeated has no `Idempotency-Key`.');
  requireEqual(key, formerKey, 'The `Idempotency-Key` of the repeat');
}

const keyOf = ({ headers }: Received): unknown => headers['idempotency-key'];

/** Requires that the submission was made once, and that the client said that it failed. */
function requireRefused(trial: Trial, what: string): void {
  const { length } = trial.gateway.calls('submit');
  requireThat(length === 1, `A submission that got ${what} was sent ${length} times.`);
  requireFailure(trial, `The submission got ${what}`);
}

/** Requires that the client asked for the task once, and said that it failed. */
function requireDropped(trial: Trial, what: string): void {
  const { length } = trial.gateway.calls('get');
  if (length === 0) throw new NotScored(NO_POLLS);
  requireThat(length === 1, `A poll that got ${what} was sent ${length} times.`);
  requireFailure(trial, `The poll got ${what}`);
}

/** Whether the secret stands anywhere in a call but where it belongs. */
function isAstray({ operation, url, headers, body }: Received, secret: string): boolean {
  const { authorization: _, ...others } = headers;
  const { auth: _auth, ...fields } = body;
  const query = new URLSearchParams(url.search);
  query.delete('auth');
  const places = [url.pathname, query.toString(), others, operation === 'submit' ? fields : body];
  return JSON.stringify(places).includes(secret);
}

/** Requires that the streams were opened again behind what the client had. */
const requireResumedStream = (trial: Trial): void => requireResumed(trial, streamsOf(trial));

/** Whether a redirected client calls the other host with the secret. */
function isLed({ url, secret }: Received): boolean {
  return url.pathname === ELSEWHERE && secret !== undefined;
}

/** Returns the cancellations. Without any the requirement is not scored. */
function cancellationsOf(trial: Trial): readonly Received[] {
  const calls = trial.gateway.calls('cancel');
  const astray = trial.gateway.received.find(({ operation }) => operation === '');
  requireThat(!astray, `The client calls ${astray?.method} ${astray?.url.pathname}, which is no operation.`);
  if (calls.length === 0) throw new NotScored('The client does not cancel its task at SIGINT.');
  return calls;
}

export const CLIENT_CHECKS: Readonly<Record<string, ClientCheck>> = {
  ...READING_CHECKS,
  'as-client.submits'(look) {
    const { gateway, task } = look('plain');
    for (const { body } of gateway.calls('submit')) {
      requireEqual(body.task_type, task.type, '`task_type`');
      requireEqual(body.task_tags, [task.tag], '`task_tags`');
      requireEqual(body.payload, task.payload, '`payload`');
      const { timeout = 1 } = body;
      requireThat(
        typeof timeout === 'number' && timeout > 0,
        `\`timeout\` is ${printValue(timeout)}, and must be a number above 0.`,
      );
    }
  },
  'submit.keep-auth'(look) {
    for (const { gateway } of allTrials(look))
      for (const { body } of gateway.calls('submit'))
        requireThat(typeof body.auth === 'string', 'A submission has no `auth` in its body.');
  },
  'as-client.secret'(look) {
    for (const { gateway, auth } of allTrials(look))
      for (const { operation, secret } of gateway.received)
        requireThat(
          operation === '' || secret === auth,
          `A ${operation} has a wrong secret, or none where it belongs.`,
        );
  },
  'as-client.secret-placement': (look) => {
    for (const { gateway, auth, printed, output } of allTrials(look)) {
      const astray = gateway.received.find((call) => isAstray(call, auth));
      requireThat(!astray, `The secret stands where it does not belong, in a ${astray?.operation}.`);
      requireThat(!`${printed}${output}`.includes(auth), 'The client prints the secret.');
    }
  },
  'as-client.secret-stays'(look) {
    const { gateway } = look('redirected');
    if (gateway.calls('get').length === 0) throw new NotScored(NO_POLLS);
    const isGone = gateway.received.some(isLed);
    requireThat(!isGone, 'The client followed a redirection to another host, and sent the secret there.');
  },
  'as-client.json'(look) {
    for (const { gateway } of allTrials(look))
      for (const { operation, bytes } of gateway.received)
        requireThat(
          bytes.length === 0 || isJsonObject(bytes),
          `The body of a ${operation} is ${printValue(bytes.toString())}, no JSON.`,
        );
  },
  'body.no-mark'(look) {
    for (const { bytes } of look('plain').gateway.calls('submit')) {
      requireThat(bytes[0] !== 0xef, 'The body of a submission begins with a byte-order mark.');
      requireThat(isUtf8(bytes), 'The body of a submission is no UTF-8.');
    }
  },
  'as-client.session'(look) {
    const trial = look('plain');
    const subscribed = streamsOf(trial, 'events').map(({ url }) => url.searchParams.get('cli_session_id'));
    for (const { body } of trial.gateway.calls('submit'))
      for (const session of subscribed)
        requireEqual(session, body.cli_session_id, '`cli_session_id` of the stream');
  },
  'events.subscribe-first'(look) {
    const trial = look('plain');
    const [stream] = streamsOf(trial, 'events');
    const [submission] = trial.gateway.calls('submit');
    requireThat(Number(stream?.atMs) < Number(submission?.atMs), 'The client submits before it subscribes.');
  },
  'as-client.early-event'(look) {
    const trial = look('early');
    streamsOf(trial, 'events');
    requireSuccess(trial);
  },
  'event.done': (look) => requireSuccess(look('others')),
  'as-client.polls': (look) => requireSuccess(look('noStream')),
  'as-client.polls-again': (look) => requireSuccess(look('slow')),
  'as-client.result': (look) => requireSuccess(look('plain')),
  'as-client.failed': (look) => requireFailure(look('failed'), 'The task failed'),
  'as-client.timed-out'(look) {
    requireFailure(look('timedOut'), 'The task timed out');
    requireFailure(look('cancelled'), 'The task was cancelled');
  },
  'as-client.no-agent': (look) => requireFailure(look('noAgent'), 'No agent qualified'),
  'as-client.opaque-id': (look) => requireSuccess(look('opaqueId')),
  'as-client.key'(look) {
    const keys = allTrials(look).map(({ gateway }) => gateway.calls('submit').map(keyOf));
    const given = keys.flatMap((one) => [...new Set(one)]).filter((key) => key !== undefined);
    if (given.length === 0) throw new NotScored('The client sends no `Idempotency-Key`.');
    for (const key of given)
      requireThat(
        /^[ -~]{1,255}$/.test(String(key)),
        `The key is ${printValue(key)}: it has 1 to 255 printable ASCII characters.`,
      );
    requireThat(
      new Set(given).size === given.length,
      'Two tasks were submitted under one `Idempotency-Key`.',
    );
  },
  'as-client.one-task'(look) {
    const repeating = allTrials(look).filter(({ gateway }) => gateway.calls('submit').length > 1);
    if (repeating.length === 0) throw new NotScored('The client repeats no submission.');
    for (const { gateway, name } of repeating)
      requireThat(gateway.created.size < 2, `In "${name}" the client created ${gateway.created.size} tasks.`);
  },
  'as-client.same-content'(look) {
    for (const { gateway } of allTrials(look))
      for (const later of gateway.calls('submit')) {
        const first = gateway.calls('submit').find((one) => keyOf(one) === keyOf(later)) ?? later;
        const { auth: _new, ...body } = later.body;
        const { auth: _old, ...former } = first.body;
        requireEqual(body, former, 'The submission that has the `Idempotency-Key` of another');
      }
  },
  'as-client.busy'(look) {
    const trial = look('busySubmission');
    requirePause(trial.gateway.calls('submit'), 'the submission');
    requireSuccess(trial);
    requirePause(look('readAgain').gateway.calls('get'), 'the poll');
  },
  'as-client.busy-stream'(look) {
    const trial = look('tooManyStreams');
    requirePause(streamsOf(trial), 'the subscription');
    requireSuccess(trial);
  },
  'as-client.too-many'(look) {
    const trial = look('tooMany');
    requireSuccess(trial);
    requirePause(trial.gateway.calls('submit'), 'a submission that got 429');
    requirePause(trial.gateway.calls('get'), 'a poll that got 429');
  },
  'as-client.poll-pause'(look) {
    const polls = look('slow').gateway.calls('get');
    if (polls.length === 0) throw new NotScored(NO_POLLS);
    const hasWait = polls.every(({ url }) => Number(url.searchParams.get('wait') ?? 0) > 0);
    const gaps = polls.slice(1).map(({ atMs }, index) => atMs - Number(polls[index]?.atMs));
    const middle = gaps.toSorted((a, b) => a - b)[Math.floor(gaps.length / 2)] ?? PAUSE_MS_MIN;
    requireThat(
      hasWait || middle >= PAUSE_MS_MIN,
      `Polls without \`wait\` come ${Math.round(middle)} ms apart: send \`wait\`, or pause.`,
    );
  },
  'as-client.lost-response'(look) {
    const trial = look('lostSubmission');
    const [first, second] = trial.gateway.calls('submit');
    requireThat(
      first !== undefined && second !== undefined,
      'A submission whose response was lost was not repeated.',
    );
    requireSame(second, first);
    requireSuccess(trial);
  },
  'as-client.store-unavailable'(look) {
    const trial = look('unavailable');
    const [first, ...more] = trial.gateway.calls('submit');
    requireThat(
      first !== undefined && more.length >= 2,
      'A submission that got 503 `store_unavailable`, and then 500, was not repeated.',
    );
    for (const later of more) requireSame(later, first);
    requireSuccess(trial);
  },
  'as-client.reads-again': (look) => requireSuccess(look('readAgain')),
  'as-client.wait'(look) {
    const waits = allTrials(look).flatMap(({ gateway }) =>
      gateway.calls('get').flatMap(({ url }) => url.searchParams.getAll('wait')),
    );
    if (waits.length === 0) throw new NotScored('The client sends no `wait`.');
    for (const wait of waits)
      requireThat(
        /^\d+(\.\d+)?$/.test(wait),
        `\`wait\` is ${printValue(wait)}, and must be a number from 0.`,
      );
  },
  'as-client.request-timeout': (look) => requireSuccess(look('slowBody')),
  'as-client.refused': (look) => requireRefused(look('refused'), '422 `validation_failed`'),
  'as-client.unauthorized'(look) {
    requireRefused(look('unauthorized'), '401 `unauthorized`');
    requireDropped(look('secretChanged'), '401 `unauthorized`');
  },
  'as-client.conflict'(look) {
    const trial = look('conflict');
    const keys = trial.gateway.calls('submit').map(keyOf);
    requireThat(
      new Set(keys).size === keys.length,
      'A submission that got 422 `idempotency_conflict` was repeated under the same key.',
    );
    requireFailure(trial, 'The submission got 422 `idempotency_conflict`');
  },
  'as-client.drops': (look) => requireDropped(look('lostTask'), '404 `task_not_found`'),
  'as-client.unknown-code'(look) {
    requireRefused(look('newRefusal'), '400 with an unknown code');
    requireSuccess(look('newCode'));
  },
  'as-client.large': (look) => requireSuccess(look('large')),
  'as-client.unknown-values': (look) => requireSuccess(look('unknownOutcome')),
  'as-client.pieces': (look) => requireRead(look('pieces')),
  'as-client.frames': (look) => requireResumedStream(look('cutInside')),
  'as-client.event-types': (look) => requireRead(look('newerType')),
  'as-client.comments': (look) => requireRead(look('comments')),
  'as-client.gap'(look) {
    streamsOf(look('gap'), 'events');
    requireSuccess(look('gap'));
  },
  'as-client.resumes': (look) => requireResumedStream(look('cutBehind')),
  'as-client.repeats': (look) => requireRead(look('allAgain')),
  'as-client.cut-event': (look) => requireRead(look('cutOwn')),
  'as-client.outage': (look) => requireSuccess(look('outage')),
  'as-client.cancels'(look) {
    const trial = look('interrupted');
    cancellationsOf(trial);
    requireFailure(trial, 'The client got SIGINT');
  },
  'as-client.cancels-again'(look) {
    const calls = cancellationsOf(look('interrupted'));
    requireThat(calls.length > 1, 'A cancellation that got 503 was not repeated.');
    requirePause(calls, 'the cancellation');
  },
  'as-client.cancels-once'(look) {
    const { length } = cancellationsOf(look('interruptedLate'));
    requireThat(length === 1, `A cancellation that got \`task_terminal\` was sent ${length} times.`);
  },
};
