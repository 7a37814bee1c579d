/**
 * The form of an open question: a field for each property of its schema, with its limits and what is wrong
 * with it. The gateway checks the answer. Prompt and names are shown as text.
 */
import {
  type AnswerField,
  ApiError,
  type FieldError,
  type Question,
  type RequestId,
  ValidationError,
} from '@task-gateway/sdk';
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { findChangedNumber } from '../../../../sdk/numbers.ts';
import { useConsole } from '../../gateway/console.ts';
import { describeError } from '../../parts/describe-error.ts';
import { FormField } from '../../parts/form-field.tsx';
import { showOutput } from './output-tail.ts';

type QuestionFormProps = { readonly request_id: RequestId; readonly question: Question };
type Texts = Readonly<Record<string, string>>;
type State = {
  readonly isBusy: boolean;
  readonly faults: readonly FieldError[];
  /** Why the question was not answered; or that it was, until the output says so too. */
  readonly note: string;
};

/** A question without a schema has this one field, and its text is the answer. */
const WHOLE: readonly (readonly [string, AnswerField])[] = [['', { type: 'string', title: 'Answer' }]];

export function QuestionForm({ request_id, question }: QuestionFormProps): VNode {
  const { client, submitRefusal } = useConsole();
  const { key, prompt, schema } = question;
  const fields = schema ? Object.entries(schema.properties) : WHOLE;
  const required = schema ? (schema.required ?? []) : [''];
  const [texts, setTexts] = useState<Texts>(() => fillIn(fields));
  const [{ isBusy, faults, note }, setState] = useState<State>({ isBusy: false, faults: [], note: '' });
  const refusal = client.hasGatewaySecret
    ? submitRefusal.value
    : 'Sign in with the gateway secret to answer.';
  const isOff = refusal !== null || isBusy;
  const send = async (): Promise<void> => {
    const changed = schema ? findChanged(fields, texts) : [];
    if (changed.length > 0) {
      setState({ isBusy: false, faults: changed, note: REFUSED });
      return;
    }
    setState({ isBusy: true, faults: [], note: '' });
    try {
      const answer = schema ? readTexts(fields, texts, required) : texts[''];
      await client.sdk.answerTask(request_id, { key, answer });
      setState({ isBusy: true, faults: [], note: 'Answered.' });
    } catch (error) {
      const isRefused = error instanceof ValidationError;
      setState({ isBusy: false, faults: isRefused ? error.errors : [], note: describeRefusal(error) });
    }
  };
  return (
    <form
      class="panel"
      aria-label="Question"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isOff) void send();
      }}
    >
      <header>
        <h2>The agent asks</h2>
        <span class="note mono">{showOutput(key)}</span>
      </header>
      <div class="in form">
        <p class="error-text">{showOutput(prompt)}</p>
        {fields.map(([name, field], index) => (
          <AnswerInput
            key={name}
            id={`answer-${index}-${key}`}
            name={name}
            field={field}
            isRequired={required.includes(name)}
            fault={faults.find(({ pointer }) => pointer === pointerOf(name))?.detail}
            text={texts[name] ?? ''}
            onChange={(text) => setTexts({ ...texts, [name]: text })}
          />
        ))}
      </div>
      <footer>
        <div class="head head-tight">
          <button class="btn primary" type="submit" aria-disabled={isOff}>
            Answer
          </button>
          <span class="muted" role="status">
            {refusal ?? note}
          </span>
        </div>
      </footer>
    </form>
  );
}

type AnswerInputProps = {
  readonly id: string;
  readonly name: string;
  readonly field: AnswerField;
  readonly isRequired: boolean;
  readonly fault: string | undefined;
  readonly text: string;
  readonly onChange: (text: string) => void;
};

function AnswerInput({ id, name, field, isRequired, fault, text, onChange }: AnswerInputProps): VNode {
  const shared = { id, 'aria-describedby': `${id}-help`, 'aria-invalid': fault !== undefined, value: text };
  const choices = field.type === 'boolean' ? ['true', 'false'] : field.enum;
  return (
    <FormField
      {...{ id, fault }}
      label={showOutput(field.title ?? name)}
      help={describeField(field, isRequired)}
    >
      {choices ? (
        <select {...shared} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
          <option value="">–</option>
          {choices.map((choice) => (
            <option key={choice} value={choice}>
              {field.type === 'boolean' ? (choice === 'true' ? 'yes' : 'no') : showOutput(choice)}
            </option>
          ))}
        </select>
      ) : (
        <input
          {...shared}
          type="text"
          autocomplete="off"
          inputMode={field.type === 'string' ? 'text' : 'decimal'}
          onInput={({ currentTarget }) => onChange(currentTarget.value)}
        />
      )}
    </FormField>
  );
}

/** Describes a field: its description, and its limits in words. */
function describeField(field: AnswerField, isRequired: boolean): string {
  const { type, description = '', minLength, maxLength, minimum, maximum } = field;
  const limits = [
    type === 'integer' && 'a whole number',
    type === 'number' && 'a number',
    minLength !== undefined && `at least ${minLength} characters`,
    maxLength !== undefined && `at most ${maxLength} characters`,
    minimum !== undefined && `${minimum} or more`,
    maximum !== undefined && `${maximum} or less`,
    !isRequired && 'may stay empty',
  ].filter((limit) => limit !== false);
  const words = limits.join(', ');
  const sentence = words && `${words[0]?.toUpperCase()}${words.slice(1)}.`;
  return [showOutput(description), sentence].filter(Boolean).join(' ');
}

/** The texts that the form shows first. */
function fillIn(fields: readonly (readonly [string, AnswerField])[]): Texts {
  return Object.fromEntries(fields.map(([name, field]) => [name, `${field.default ?? ''}`]));
}

/** Finds numbers that would arrive with another value. */
function findChanged(
  fields: readonly (readonly [string, AnswerField])[],
  texts: Texts,
): readonly FieldError[] {
  return fields.flatMap(([name, { type }]) => {
    const text = texts[name] ?? '';
    const isNumber = (type === 'integer' || type === 'number') && !Number.isNaN(Number(text));
    const changed = isNumber ? findChangedNumber(text) : undefined;
    if (changed === undefined) return [];
    return [{ pointer: pointerOf(name), detail: `would arrive as ${JSON.stringify(Number(changed))}` }];
  });
}

/**
 * Builds the answer from the texts. A text that should be a number but is none is left for the gateway to
 * refuse.
 */
function readTexts(
  fields: readonly (readonly [string, AnswerField])[],
  texts: Texts,
  required: readonly string[],
): Readonly<Record<string, unknown>> {
  const given = fields.flatMap(([name, field]) => {
    const text = texts[name] ?? '';
    const isText = field.type === 'string' && field.enum === undefined;
    if (text === '' && !(isText && required.includes(name))) return [];
    return [[name, readText(field, text)] as const];
  });
  return Object.fromEntries(given);
}

function readText({ type }: AnswerField, text: string): unknown {
  if (type === 'boolean') return text === 'true';
  if (type === 'string') return text;
  const number = Number(text);
  return Number.isFinite(number) ? number : text;
}

/** The JSON Pointer of a field. The empty name stands for the whole answer. */
function pointerOf(name: string): string {
  return name === '' ? '/answer' : `/answer/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

const REFUSED = 'The question does not take this answer.';

function describeRefusal(error: unknown): string {
  if (error instanceof ValidationError) return REFUSED;
  if (error instanceof ApiError && error.problem) return error.problem.detail;
  return `Could not answer: ${describeError(error)}.`;
}
