/** The negative controls of the guide's sections "Limits", "Numbers and keys" and "Browsers" (L1). */
import type { Control } from './controls.ts';
import {
  changeBodies,
  changeHeaders,
  changeResponses,
  nameEvents,
  refuseRequests,
  takeRefused,
} from './planted-faults.ts';

const SUBMIT = /^POST \/api\/cli\/tasks$/;
const GET = /^GET \/api\/cli\/tasks\/[^/]+$/;
const EVENTS = /^GET \/api\/cli\/events$/;
const REPORT = /\/result$/;
const REGISTER = /\/register$/;
const WRITE = /^POST .*\/output$/;
const CLAIM = /\/claim$/;

/** The controls, by the requirement whose check must find the fault. */
export const REQUEST_CONTROLS: Readonly<Record<string, Control>> = {
  'limits.body-payload-or-result': {
    fault: 'A payload may grow beyond 1 MiB.',
    plant: takeRefused(SUBMIT, 413, /1e20/),
  },
  'limits.levels-of-nesting-keys': {
    fault: 'One key more is taken.',
    plant: takeRefused(SUBMIT, 422, /"k19996"/),
  },
  'limits.parts-which-are-texts': {
    fault: 'One part more is taken.',
    plant: takeRefused(SUBMIT, 422, /"list"/),
  },
  'limits.agent-id-task-type': {
    fault: 'Half a character is taken in a tag of an agent.',
    plant: takeRefused(REGISTER, 422, /"x","[^"]*\\ud83d"/),
  },
  'limits.tags-64-422': { fault: 'An agent may have 65 tags.', plant: takeRefused(REGISTER, 422) },
  'limits.request-ids-1-000': { fault: 'A claim may name 1,001 ids.', plant: takeRefused(CLAIM, 422) },
  'limits.endpoint-2-048-characters': {
    fault: 'An endpoint may be longer.',
    plant: takeRefused(REGISTER, 422),
  },
  'limits.idempotency-key-255-printable': {
    fault: 'A key that is not ASCII is ignored.',
    plant: (send) => (url, init) => {
      const { 'idempotency-key': key = '', ...headers } = init.headers;
      return send(url, key.endsWith('é') ? { ...init, headers } : init);
    },
  },
  'limits.timeout-any-number-above': {
    fault: '`timeout` comes out as 7 days at most.',
    plant: changeBodies(SUBMIT, (task) => ({ ...task, timeout: Math.min(Number(task.timeout), 604_800) })),
  },
  'limits.wait-any-number-from': {
    fault: 'A `wait` of more than 60 is refused.',
    plant: refuseRequests((_call, url) => url.endsWith('wait=61'), 422, 'validation_failed'),
  },
  'limits.headers-16-kib-within': {
    fault: 'Headers of 15 kB are refused.',
    plant: refuseRequests((_call, _url, { headers }) => 'x-long' in headers, 431, 'headers_too_large'),
  },
  'limits.streams-20-000-of': {
    fault: 'A session may have any number of streams.',
    plant: takeRefused(EVENTS, 429),
  },
  'limits.output-in-one-write': {
    fault: 'A write may have 101 pieces.',
    plant: takeRefused(WRITE, 422),
  },
  'limits.questions-of-a-task': { fault: 'A prompt may have any length.', plant: takeRefused(WRITE, 422) },
  'limits.output-of-a-task': {
    fault: 'One piece more is accepted.',
    plant: changeBodies(WRITE, (receipt) => ({ ...receipt, accepted: true })),
  },
  'limits.lengths-count-code-points': {
    fault: 'Previews are cut by code points.',
    plant: changeResponses(/^GET \/api\/admin\/tasks$/, (answer) => ({
      ...answer,
      body: answer.body.replace('"payload_preview":"{\\"t\\":\\"', '$&😀'),
    })),
  },
  'numbers.payloads-and-results-are': {
    fault: 'A result may be a text.',
    plant: takeRefused(REPORT, 422, /"result":"text"/),
  },
  'numbers.texts-and-keys-come': {
    fault: 'Keys come out sorted.',
    plant: changeResponses(GET, (answer) => ({
      ...answer,
      body: answer.body.replace('"z":0,"y":0', '"y":0,"z":0'),
    })),
  },
  'numbers.of-two-equal-keys': {
    fault: 'Of two equal keys the first counts.',
    plant: (send) => (url, init) =>
      send(url, init.body ? { ...init, body: init.body.replace(',"a":"last"', '') } : init),
  },
  'numbers.numbers-are-ieee-doubles': {
    fault: '`1.0` comes out as it was written.',
    plant: changeResponses(GET, (answer) => ({ ...answer, body: answer.body.replace('[1,0.1', '[1.0,0.1') })),
  },
  'numbers.a-number-too-large': {
    fault: '`-1e400` is taken.',
    plant: takeRefused(SUBMIT, 422, /\[-1e400\]/),
  },
  'browsers.unless-the-gateway-s': {
    fault: 'Any page may read the response to a submission.',
    plant: changeHeaders(SUBMIT, 'access-control-allow-origin', (value) => value || '*'),
  },
  'browsers.to-an-allowed-origin': {
    fault: '`Task-Outcome` is not exposed.',
    plant: changeHeaders(/./, 'access-control-expose-headers', (value) =>
      value.replace(', Task-Outcome', ''),
    ),
  },
  'browsers.a-body-that-a': {
    fault: 'A form of a page is taken.',
    plant: takeRefused(SUBMIT, 415),
  },
  'browsers.credentials-cookies-are-not': {
    fault: 'A preflight allows credentials.',
    plant: changeHeaders(/^OPTIONS/, 'access-control-allow-credentials', () => 'true'),
  },
  'browsers.eventsource-can-t-send': {
    fault: 'A stream takes no secret in the query.',
    plant: refuseRequests((call, url) => EVENTS.test(call) && url.includes('auth='), 401, 'unauthorized'),
  },
  'browsers.its-onmessage-gets-each': { fault: 'A `task_done` has a type of its own.', plant: nameEvents },
};
