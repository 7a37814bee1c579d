/** The table of metrics: its names and labels, the text rendered from it, and the page that has it. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { METRICS, type Metric, type MetricName } from '../../server/observability/metrics-table.ts';
import { createMetricsPage } from './given-metrics.ts';

/** The text of a gateway that has every metric. */
async function renderAll(): Promise<string> {
  const { observer, render } = createMetricsPage({}, 'redis');
  const request = { operation: 'getTask', method: 'GET', path: '/x', status: 200, code: undefined, ms: 1 };
  observer.noteRequest({ ...request, peer: () => 'p' });
  return await render();
}

describe('the table of metrics', () => {
  const names = Object.keys(METRICS) as MetricName[];

  test('has names with base units, `_total` on counters alone, and a sentence for each', () => {
    for (const name of names) {
      const { type, help, labels, buckets }: Metric = METRICS[name];
      expect(name).toMatch(/^task_gateway_[a-z_]+$/);
      expect(name.endsWith('_total'), name).toBe(type === 'counter');
      expect(buckets !== undefined, name).toBe(type === 'histogram');
      expect(name, name).not.toMatch(/_(ms|milliseconds|minutes|hours|kb|mb)\b/);
      expect(help, name).toMatch(/\.$/);
      expect(
        [...labels].filter((label) => /^(type|tag|tags|session|agent_id|request_id|le)$/.test(label)),
      ).toEqual([]);
      expect([...(buckets ?? [])].toSorted((a, b) => a - b)).toEqual([...(buckets ?? [])]);
    }
  });

  test('is rendered whole, each metric with its help, type and labels alone', async () => {
    const text = await renderAll();
    for (const name of names) {
      const { type, labels }: Metric = METRICS[name];
      expect(text, name).toMatch(new RegExp(`^# HELP ${name} \\S.*Of (this process|the whole store)`, 'm'));
      expect(text, name).toMatch(new RegExp(`^# TYPE ${name} ${type}$`, 'm'));
      const series = [...text.matchAll(new RegExp(`^${name}(?:_bucket|_sum|_count)?(?:\\{(.*)\\})? `, 'gm'))];
      expect(series.length, name).toBeGreaterThan(0);
      for (const [, found = ''] of series) {
        const used = [...found.matchAll(/(\w+)="/g)]
          .map(([, label]) => label)
          .filter((label) => label !== 'le');
        expect(used, name).toEqual([...labels]);
      }
    }
  });

  test('is the one in OPERATING.md', () => {
    const page = readFileSync(new URL('../../server/OPERATING.md', import.meta.url), 'utf8');
    const rows = names.map((name) => {
      const { type, of, labels, help }: Metric = METRICS[name];
      const shown = labels.map((label) => `\`${label}\``).join(', ');
      return `| \`${name}\` | ${type} | ${shown} | ${of} | ${help} |`;
    });
    const head = ['| Metric | Type | Labels | Of | Meaning |', '|---|---|---|---|---|'];
    const expected = `\n${[...head, ...rows].join('\n')}\n\n`;
    expect(/<!-- metrics -->\n([\s\S]*?)<!-- \/metrics -->/.exec(page)?.[1]).toBe(expected);
  });
});
