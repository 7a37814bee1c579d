/**
 * The words of this repository, as data: each rule names a word that is not used, or that is reserved for one
 * meaning, and what to write instead. `word-law.ts` says how a rule is applied.
 */

export type WordRule = {
  readonly word: string;
  readonly instead: string;
  readonly names?: RegExp;
  readonly words?: RegExp;
  readonly texts?: RegExp;
  /** Paths that the rule is for; all of server/, sdk/, spec/ and test/ where it is absent. */
  readonly within?: RegExp;
  /** Paths where the word is a stored or published name, which is frozen. */
  readonly frozenIn?: RegExp;
  /** Code that breaks it, and code that only looks so. */
  readonly bites: string;
  readonly spares?: string;
};

/** Words with one meaning each. */
const RESERVED: readonly WordRule[] = [
  {
    word: 'judge',
    instead: 'check (returns a boolean), validate (errors), classify (one of several) or require (throws)',
    words: /^judg|\bjudg(e|es|ed|ing)\b/,
    texts: /\bjudg(e|es|ed|ing)\b/i,
    bites: 'function judgeImport() {}',
  },
  {
    word: 'requestId',
    instead: 'request_id: an id of the contract is written as on the wire',
    names: /^requestIds?$/,
    frozenIn: /^test\/sdk\/compiler\.test-d\.ts$/,
    bites: 'const requestIds = one.requestId;',
    spares: 'const request_id = newRequestId();',
  },
  {
    word: 'agentId',
    instead: 'agent_id: an id of the contract is written as on the wire',
    names: /^agentIds?$/,
    // In the SDK it is the published name of an option.
    within: /^(server|spec)\/|^test\/(contract|domain|engines|gateway|harness|http|properties|push|server)\//,
    bites: 'const agentIds = one.agentId;',
    spares: 'const agent_id = 1;',
  },
  {
    word: 'settle',
    instead: 'retry, run, repair, deliver, finish or record: a task settles, nothing else',
    words: /\bsettles?\b|^settled$/,
    within: /^server\/(http|push|config|system|async|engines\/redis)\/|^sdk\/(agent|cli|stream)\//,
    bites: 'const settle = retry;',
    spares: 'await Promise.allSettled([]); const settledKey = 1;',
  },
  {
    word: 'Refusal',
    instead: 'Conflict: the store refuses nothing, the domain does',
    names: /refusal/i,
    within: /^(server\/(engines|ports)|test\/engines)\//,
    bites: 'type Refusal = string;',
  },
  {
    word: 'turn',
    instead:
      'permit (a push may be sent), pass (of a duty), rotation (fair order among callers), batch (calls that travel together) or tick (of the event loop)',
    names: /^turns?$|(^|[a-z])Turns?$/,
    texts: /\b(a|the|its|their|one|each|every|this|that|no|of) turns?\b/i,
    within: /^server\/(?!console)/,
    bites: 'const dueTurn = 1; // It waits for its turn.',
    spares: '// It turns a text into bytes, one after the other in turn.',
  },
  {
    word: 'Held',
    instead: 'LeasedTask, AssignedTask or slots',
    names: /^Held([A-Z]|$)/,
    bites: 'type HeldTask = {};',
    spares: 'const heldBack = 1;',
  },
  {
    word: 'isDone, isEnded, isFinished',
    instead: 'isTerminal',
    names: /^is(Done|Ended|Finished)$/,
    bites: 'const isEnded = true;',
  },
  {
    word: 'away, silent, left (of an agent)',
    instead: 'offline, draining, unregistered or gone',
    names: /^(is|was)?(Away|Silent)$|^away$/,
    bites: 'const wasAway = false;',
    spares: 'const SILENT = log; const silent = [];',
  },
];

/** Metaphors, and the standard term for each. */
const METAPHORS: readonly WordRule[] = [
  {
    word: 'standing',
    instead: 'agent status',
    words: /\bstandings?\b/,
    texts: /\bstanding\b/i,
    bites: 'store.standing(id);',
  },
  {
    word: 'roster',
    instead: 'agent index',
    words: /\brosters?\b/,
    texts: /\brosters?\b/i,
    bites: '// Reads the roster.',
  },
  {
    word: 'patience',
    instead: 'timeout',
    words: /\bpatien(ce|t|ts)\b/,
    texts: /\bpatience\b/i,
    bites: 'const patience = 5;',
  },
  {
    word: 'ear',
    instead: 'listener',
    words: /\bears?\b/,
    texts: /\bears?\b/i,
    bites: 'type Ear = () => void;',
    spares: 'const earlier = clear;',
  },
  {
    word: 'hint',
    instead: 'notification',
    words: /\bhint(s|ed)?\b/,
    within: /^(server\/(engines|gateway|ports|duties)|test\/(engines|gateway|harness))/,
    // The field of the contract that says what to do.
    frozenIn: /^test\/gateway\/(drained-agents|explanations|previews)\.test\.ts$/,
    bites: 'const hints = [];',
  },
  { word: 'alarm', instead: 'due timer', words: /\balarms?\b/, texts: /\balarms?\b/i, bites: 'alarm.set();' },
  {
    word: 'life, lives',
    instead: 'run or process',
    words: /\b(life|lives)\b/,
    bites: 'const life = lives[0];',
    spares: 'const lifetime = 1; const alive = true;',
  },
  {
    word: 'image',
    instead: 'copies',
    words: /\bimages?\b/,
    texts: /\bimage\b/i,
    within: /^server\//,
    bites: 'const image = new Map();',
  },
  { word: 'facts', instead: 'copies', words: /\bfacts\b/, bites: 'const facts = [];' },
  {
    word: 'room',
    instead: 'free slots, space',
    words: /\b(rooms?|roomy)\b/,
    texts: /\b(rooms|roomy)\b/i,
    bites: 'const room = 1;',
  },
  {
    word: 'mark',
    instead: 'high-water mark',
    names: /^(mark|markOf|marked)$/,
    within: /^(server\/engines|test\/engines)\//,
    bites: 'const mark = 1;',
    spares: 'const highWaterMark = 1;',
  },
  { word: 'fade', instead: 'expire', words: /\bfad(e|es|ed|ing)\b/, bites: 'fade(key);' },
  {
    word: 'crowd',
    instead: 'over the limit, many readers',
    words: /\bcrowd(s|ed)?\b/,
    texts: /\bcrowd(s|ed)?\b/i,
    frozenIn: /^server\/engines\/redis\/scripts\.ts$/,
    bites: 'const crowdedSessions = [];',
  },
  {
    word: 'line (for a connection)',
    instead: 'connection',
    names: /^([lL]ines?|openLine)$/,
    within: /^server\/engines\/redis\//,
    bites: 'const line = connect();',
    spares: 'const lineLength = 1;',
  },
  {
    word: 'desk',
    instead: 'command context',
    words: /\bdesks?\b/,
    texts: /\bdesks?\b/i,
    bites: 'run(desk);',
  },
  {
    word: 'face',
    instead: 'output',
    words: /\bfaces?\b/,
    bites: 'const face = out;',
    spares: 'type Surface = 1;',
  },
  { word: 'pulse', instead: 'heartbeat thread', words: /\bpulses?\b/, bites: 'startPulse();' },
  {
    word: 'chance',
    instead: 'random',
    words: /\bchances?\b/,
    frozenIn:
      /^sdk\/(clock|waiting|agent\/registration)\.ts$|^server\/simulator\/(world-clock|moving-time)\.ts$|^test\/sdk\/sdk-clock\.ts$/,
    bites: 'const chance = Math.random;',
  },
  {
    word: 'place',
    instead: 'cursor, position, index, slot or folder',
    names: /^[pP]laces?$/,
    frozenIn: /\.lua$/,
    within: /^(server|sdk)\//,
    bites: 'const place = 1;',
    spares: "text.replace('a', 'b'); const placeholder = '';",
  },
  {
    word: 'known, brought, wants',
    instead: 'lookup, prefetched, reads',
    names: /^(brought|wants)$/,
    within: /^server\//,
    bites: 'const brought = wants;',
  },
  {
    word: 'peek',
    instead: 'lookup, prefetched, reads',
    names: /^peek$/,
    // In the console it is a method of the signals.
    within: /^server\/(?!console\/)/,
    bites: 'const peek = 1;',
  },
  {
    word: 'witness, chapter, patient, stand, gate',
    instead: 'checker, suite, subscriber, fixture, harness',
    words: /\b(witness|chapter|patients?)\b|^(stand|gate)$|^open (stand|gate)$/,
    within: /^test\//,
    bites: 'const witness = createWitness();',
    spares: 'const gateway = 1;',
  },
  {
    word: 'lived-in',
    instead: 'seeded',
    words: /\blived in\b|^live in$/,
    texts: /\blived-in\b/i,
    bites: '// A lived-in database.',
  },
];

/** English that is read twice. */
const ENGLISH: readonly WordRule[] = [
  {
    word: 'tell',
    instead: 'report, log, return, write, print or show',
    words: /\b(tell|tells|told|telling)\b/,
    texts: /\b(told|tells)\b/i,
    frozenIn: /^sdk\/agent\/outbox\.ts$/,
    bites: '// What the caller is told.',
    spares: '// Nothing can tell the two apart.',
  },
  {
    word: 'answers (verb)',
    instead: 'returns, resolves with, responds',
    texts: /^(\/\*\*|\/\/|--)\W*answers\b|\banswers (true|false|null|undefined|whether|how many)\b/i,
    bites: '/** Answers the number of tasks. */',
    spares: '// Some answers are lost.',
  },
  {
    word: 'twice is fine',
    instead: 'idempotent',
    texts: /\btwice is fine\b/i,
    bites: '/** Closes it. Twice is fine. */',
  },
  {
    word: 'whoever, somebody, nobody, anybody',
    instead: 'the caller, the agent, the reader, no caller …',
    texts: /\b(whoever|somebody|nobody|anybody)\b/i,
    bites: '// Whoever waits is woken.',
    spares: "const tag = 'nobody';",
  },
  {
    word: 'is none',
    instead: 'is not one, is absent',
    texts: /(?<!there )\bis none\b|\bnone of (ours|theirs)\b/i,
    bites: '// A path that is none.',
    spares: '// There is none.',
  },
  {
    word: 'hands in',
    instead: 'reports, submits',
    texts: /\bhands in\b/i,
    bites: '// The agent hands in its result.',
  },
  {
    word: 'so many, so much, so long',
    instead: 'this many, where a constant or an argument says how many',
    texts: /\b(at most|for|after|of|than|about|with) so (many|much|long)\b(?! (ago|as|that))/i,
    bites: '/** A reading is shared for so long. */',
    spares: '// It was silent for so long that it is lost.',
  },
  { word: 'beats by', instead: 'sends heartbeats by', texts: /\bbeats by\b/i, bites: '// It beats by HTTP.' },
];

export const WORD_RULES: readonly WordRule[] = [...RESERVED, ...METAPHORS, ...ENGLISH];
