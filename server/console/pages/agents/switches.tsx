/** The buttons above the agents: their states, and agents that fail or are full. */
import type { VNode } from 'preact';
import type { AgentCounts } from '../../gateway/shapes.ts';
import { lookOf } from '../../parts/chip.tsx';
import { formatNumber } from '../../parts/format.ts';
import { Segments } from '../../parts/segments.tsx';
import { addToken, readValue, removeToken, type Token } from '../../routing/filter.ts';

const STATES = ['processing', 'ready', 'draining', 'offline'] as const;

type Props = {
  readonly tokens: readonly Token[];
  readonly counts: AgentCounts | undefined;
  readonly onChange: (tokens: readonly Token[]) => void;
};

/** Draws the buttons. Only one state is on at a time; a second press shows all states. */
export function AgentSwitches({ tokens, counts, onChange }: Props): VNode {
  const state = readValue(tokens, 'state');
  const toggle = (key: string, value: string): void =>
    onChange(readValue(tokens, key) === value ? removeToken(tokens, key) : addToken(tokens, { key, value }));
  return (
    <>
      <Segments
        label="State"
        segments={STATES.map((value) => {
          const { tone, icon, word } = lookOf(value);
          return { value, label: word, icon, tone: `t-${tone}`, count: counts?.[value] };
        })}
        selected={STATES.filter((one) => state === null || state === one)}
        onToggle={(value) => toggle('state', value)}
      />
      <Switch
        label="Failing pushes"
        tone="t-bad"
        count={counts?.failing}
        isOn={readValue(tokens, 'failing') === 'true'}
        onToggle={() => toggle('failing', 'true')}
      />
      <Switch
        label="Full"
        tone="t-wait"
        count={counts?.full}
        isOn={readValue(tokens, 'full') === 'true'}
        onToggle={() => toggle('full', 'true')}
      />
    </>
  );
}

type SwitchProps = {
  readonly label: string;
  readonly tone: string;
  readonly count: number | undefined;
  readonly isOn: boolean;
  readonly onToggle: () => void;
};

function Switch({ label, tone, count, isOn, onToggle }: SwitchProps): VNode {
  return (
    <button class="btn small" type="button" aria-pressed={isOn} onClick={onToggle}>
      {label} {count !== undefined && <b class={count > 0 ? tone : 'muted'}>{formatNumber(count)}</b>}
    </button>
  );
}
