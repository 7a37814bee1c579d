/** A field of a form with its label. Below it stands what is wrong with it, or else its help. */
import type { ComponentChildren, VNode } from 'preact';
import { Icon } from './icon.tsx';

export type FormFieldProps = {
  /** The id of the input among `children`. The element `ID-help` describes the input. */
  readonly id: string;
  readonly label: string;
  readonly fault: string | undefined;
  readonly help?: ComponentChildren;
  readonly children: ComponentChildren;
};

export function FormField({ id, label, fault, help = '', children }: FormFieldProps): VNode {
  return (
    <div class="row">
      <label for={id}>{label}</label>
      {children}
      <span class={fault === undefined ? 'help' : 'err'} id={`${id}-help`}>
        {fault === undefined ? (
          help
        ) : (
          <>
            <Icon name="warn" />
            {fault}
          </>
        )}
      </span>
    </div>
  );
}
