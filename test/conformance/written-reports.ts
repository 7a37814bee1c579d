/** Writes the reports of a run: for a terminal, as JSON to attach to a release, and as JUnit for CI. */
import type { Requirement } from './requirements.ts';
import { isComplaint, type Outcome, type Run, type Verdict } from './run-checks.ts';
import { type Baseline, type Summary, summarize } from './verdicts.ts';

/** What a report says of the run, besides its verdicts. */
export type ReportHead = {
  readonly kitVersion: string;
  /** The SHA-256 of the kit's programs and requirements. */
  readonly kitHash: string;
  readonly seed: number;
  readonly role: Requirement['role'];
  /** The URL of the gateway, the command or URL of the agent, or the command of the client. */
  readonly subject: string;
  /** When the run began, as ISO 8601. */
  readonly startedAt: string;
};

const LABELS: Readonly<Record<Outcome, string>> = {
  pass: 'pass',
  fail: 'FAIL',
  warn: 'warn',
  not_scored: 'not scored',
  error: 'HARNESS ERROR',
  not_run: 'not run',
};

/**
 * Prints a run. Failures come last, by their causes, the earliest cause first. Unless `isWhole`, it leaves
 * out what passed and what was not scored.
 */
export function printReport(
  run: Run,
  summary: Summary,
  head: ReportHead,
  baseline: Baseline,
  isWhole: boolean,
): string {
  const { counts, stale } = summary;
  const others = run.verdicts.filter(
    (one) => !isComplaint(one) && (isWhole || one.outcome === 'error' || isRepeated(one)),
  );
  const shown = [
    ...others.flatMap((verdict) => describeVerdict(verdict, baseline)),
    ...groupByCause(run.verdicts.filter(isComplaint)).flatMap((group) => describeGroup(group, baseline)),
    ...stale.map((id) => `STALE  ${id}\n  The baseline expects it to fail, and it does not: take it out.`),
    ...(run.stopped === undefined ? [] : [`${run.stopped} The rest was not run.`]),
  ];
  return [
    `${head.subject}, version ${run.subjectVersion ?? 'not said'}; kit ${head.kitVersion} (${head.kitHash.slice(0, 12)})`,
    `Names begin with ${run.prefix}; seed ${head.seed}; ${run.seconds.toFixed(1)} s`,
    '',
    ...shown,
    ...(shown.length > 0 ? [''] : []),
    `MUST ${summary.passed} of ${summary.applicable} applicable${describeLevels(run)}`,
    `${counts.fail} failed, ${counts.warn} warnings, ${counts.not_scored} not scored, ${counts.error} harness errors${counts.not_run > 0 ? `, ${counts.not_run} not run` : ''}`,
  ].join('\n');
}

/** Whether it failed beside other checks and passed alone. */
function isRepeated({ outcome, detail }: Verdict): boolean {
  return outcome === 'pass' && detail !== '';
}

/** Groups the failures by cause, the earliest cause first. */
function groupByCause(failed: readonly Verdict[]): readonly (readonly Verdict[])[] {
  const groups = new Map<string, Verdict[]>();
  for (const one of failed) {
    const { cause = one.detail } = one;
    groups.set(cause, [...(groups.get(cause) ?? []), one]);
  }
  const startOf = (group: readonly Verdict[]): number => Math.min(...group.map(({ atMs = 0 }) => atMs));
  return [...groups.values()].toSorted((a, b) => startOf(a) - startOf(b));
}

/** Describes a group: several by their number and cause, and the first with what was sent and got. */
function describeGroup(group: readonly Verdict[], baseline: Baseline): readonly string[] {
  const [first] = group;
  return [
    ...(group.length > 1 ? [`${group.length} checks: ${first?.cause ?? first?.detail}`] : []),
    ...group.flatMap((verdict) => {
      if (verdict === first)
        return [
          ...describeVerdict(verdict, baseline),
          ...(verdict.exchanges ?? []).map((line) => `    ${line}`),
          ...(/ got 401 unauthorized$/.test(verdict.cause ?? '') ? [CHECK_SECRETS] : []),
        ];
      const [label = '', ...lines] = describeVerdict(verdict, baseline);
      return verdict.detail === first?.detail ? `${label}: the same` : [label, ...lines];
    }),
  ];
}

const CHECK_SECRETS = '    Are GATEWAY_AUTH and ADMIN_AUTH of the kit those of the gateway?';

/** Describes the MUSTs of each level, if there are several. */
function describeLevels({ verdicts }: Run): string {
  const levels = [...new Set(verdicts.map(({ requirement }) => requirement.level))];
  if (levels.length < 2) return '';
  const parts = levels.map((level) => {
    const { passed, applicable } = summarize(
      verdicts.filter(({ requirement }) => requirement.level === level),
    );
    return `${level} ${passed} of ${applicable}`;
  });
  return ` (${parts.join(', ')})`;
}

function describeVerdict({ requirement, outcome, detail }: Verdict, baseline: Baseline): readonly string[] {
  const expected = outcome === 'fail' || outcome === 'warn' ? baseline[requirement.id] : undefined;
  return [
    `${LABELS[outcome]}${expected === undefined ? '' : ' (expected)'}  ${requirement.id}`,
    `  ${requirement.text} (${requirement.level}, ${requirement.document} ${requirement.where.join(', ')})`,
    ...(detail === '' ? [] : [`  ${detail}`]),
    ...(expected === undefined ? [] : [`  Expected: ${expected}`]),
  ];
}

/** Writes the run as one JSON object, made to be kept. */
export function writeJsonReport(run: Run, summary: Summary, head: ReportHead, baseline: Baseline): string {
  const { passed, applicable, counts, stale } = summary;
  const report = {
    kit: { name: '@task-gateway/conformance', version: head.kitVersion, sha256: head.kitHash },
    subject: {
      role: head.role,
      [/^https?:/.test(head.subject) ? 'url' : 'command']: head.subject,
      version: run.subjectVersion,
    },
    started_at: head.startedAt,
    seconds: Math.round(run.seconds * 10) / 10,
    seed: head.seed,
    prefix: run.prefix,
    must: { passed, applicable },
    counts,
    stale_baseline: stale,
    ...(run.stopped === undefined ? {} : { stopped: run.stopped }),
    verdicts: run.verdicts.map(({ requirement, outcome, detail, cause, exchanges }) => ({
      ...requirement,
      outcome,
      ...(detail === '' ? {} : { detail }),
      ...(cause === undefined ? {} : { cause, exchanges }),
      ...(baseline[requirement.id] === undefined ? {} : { expected: baseline[requirement.id] }),
    })),
  };
  return `${JSON.stringify(report, null, 2)}\n`;
}

/** Writes one test case per requirement. A failure that the baseline expects is skipped with its reason. */
export function writeJunitReport(run: Run, summary: Summary, baseline: Baseline): string {
  const cases = run.verdicts.map((verdict) => {
    const { requirement, outcome, detail } = verdict;
    const { id, level, text } = requirement;
    const name = `<testcase classname="${escapeXml(level)}" name="${escapeXml(`${id}: ${text}`)}"`;
    const expected = outcome === 'fail' ? baseline[id] : undefined;
    if (outcome === 'pass' && !isRepeated(verdict)) return `    ${name}/>`;
    if (outcome === 'warn' || outcome === 'pass')
      return `    ${name}><system-out>${escapeXml(detail)}</system-out></testcase>`;
    if (outcome === 'not_scored' || outcome === 'not_run' || expected !== undefined)
      return `    ${name}><skipped message="${escapeXml(expected ?? detail)}"/></testcase>`;
    const element = outcome === 'fail' ? 'failure' : 'error';
    return `    ${name}><${element} message="${escapeXml(detail)}"/></testcase>`;
  });
  const stale = summary.stale.map(
    (id) =>
      `    <testcase classname="baseline" name="${escapeXml(id)}"><failure message="stale"/></testcase>`,
  );
  const failures = summary.unexpected.length + stale.length;
  const expected = summary.counts.fail - summary.unexpected.length;
  const counts =
    `tests="${cases.length + stale.length}" failures="${failures}" errors="${summary.counts.error}" ` +
    `skipped="${summary.counts.not_scored + summary.counts.not_run + expected}" time="${run.seconds.toFixed(1)}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<testsuites>',
    `  <testsuite name="task-gateway conformance" ${counts}>`,
    ...cases,
    ...stale,
    '  </testsuite>',
    '</testsuites>\n',
  ].join('\n');
}

function escapeXml(text: string): string {
  const printable = [...text]
    .map((one) => (one < ' ' || one === '\ufffe' || one === '\uffff' ? ' ' : one))
    .join('');
  return printable
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
