/** Signing in. No data is read before the gateway has accepted the administrator's secret. */
import type { ComponentChildren, VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { keepSecrets, signOutReason } from '../gateway/secrets.ts';
import { type Refusal, validateSecrets } from '../gateway/validate-secrets.ts';
import { Brand } from '../parts/brand.tsx';
import { describeError } from '../parts/describe-error.ts';
import { Icon } from '../parts/icon.tsx';
import { usePageTitle } from '../parts/page-title.ts';
import { gatewayUrl } from '../routing/routes.ts';
import { toggleTheme } from '../theme.ts';

type Faults = { readonly admin?: string; readonly gateway?: string; readonly form?: string };

const REFUSED = 'The gateway refused this secret.';

/** Says at each field why its secret was refused. */
function describeRefusal(refusal: Refusal): Faults {
  if (refusal.kind !== 'unknown') return { [refusal.kind]: REFUSED };
  return { form: `The gateway did not answer: ${describeError(refusal.error)}. Is it running?` };
}

export function SignIn(): VNode {
  usePageTitle('Sign in');
  const form = useSignIn();
  useEffect(() => form.admin.current?.focus(), []);
  return (
    <main class="center" id="main">
      <form
        class="card"
        onSubmit={(event) => {
          event.preventDefault();
          if (!form.isBusy) void form.signIn();
        }}
      >
        <div class="brand">
          <Brand />
        </div>
        <section class="panel">
          <SecretFields {...form} />
        </section>
        <p class="muted foot-note">
          <span>{gatewayUrl().replace(/^https?:\/\//, '')}</span>
          <a href={`${gatewayUrl()}/docs`}>API</a>
          <button class="btn small quiet" type="button" onClick={toggleTheme}>
            <Icon name="theme" />
            Light or dark
          </button>
        </p>
      </form>
    </main>
  );
}

type Field = { current: HTMLInputElement | null };
type SignInForm = {
  readonly admin: Field;
  readonly gateway: Field;
  readonly faults: Faults;
  readonly isBusy: boolean;
  signIn(): Promise<void>;
};

/** The state of the form: its fields, and what the gateway says about them. */
function useSignIn(): SignInForm {
  const admin = useRef<HTMLInputElement>(null);
  const gateway = useRef<HTMLInputElement>(null);
  const [isBusy, setBusy] = useState(false);
  const [faults, setFaults] = useState<Faults>(() =>
    signOutReason.peek() === null ? {} : { admin: signOutReason.peek() ?? '' },
  );

  async function signIn(): Promise<void> {
    const secrets = { admin: admin.current?.value ?? '', gateway: gateway.current?.value ?? '' };
    if (secrets.admin === '') {
      setFaults({ admin: 'Type the administrator’s secret.' });
      admin.current?.focus();
      return;
    }
    setBusy(true);
    const refusal = await validateSecrets(secrets);
    setBusy(false);
    if (refusal === null) {
      keepSecrets(secrets);
      return;
    }
    const found = describeRefusal(refusal);
    setFaults(found);
    const field = found.gateway === undefined ? admin.current : gateway.current;
    field?.focus();
    field?.select();
  }
  return { admin, gateway, faults, isBusy, signIn };
}

function SecretFields({ admin, gateway, faults, isBusy }: SignInForm): VNode {
  return (
    <div class="in form form-wide">
      <h1>Sign in</h1>
      <SecretField
        field={admin}
        name="admin"
        label="Admin secret"
        fault={faults.admin}
        help={
          <>
            The gateway printed it when it started: <span class="mono">Admin secret</span>.{' '}
            {faults.admin === undefined ? 'To choose one, set ' : 'Without '}
            <span class="mono">ADMIN_AUTH</span>
            {faults.admin === undefined ? '.' : ' every start makes a new one.'}
          </>
        }
      />
      <SecretField
        field={gateway}
        name="gateway"
        label={
          <>
            Gateway secret <span class="muted weight-n">(optional)</span>
          </>
        }
        fault={faults.gateway}
        help="Needed to submit and to read a session’s events. Without it the console reads and cancels."
      />
      {faults.form !== undefined && (
        <p class="row err-line" role="alert">
          <span class="err">
            <Icon name="warn" />
            {faults.form}
          </span>
        </p>
      )}
      <button class="btn primary" type="submit" {...(isBusy && { 'aria-disabled': true })}>
        {isBusy ? 'Asking the gateway…' : 'Sign in'}
      </button>
      <p class="help muted">
        Both stay in this browser tab and are forgotten when it closes. They are sent in headers, never in a
        URL.
      </p>
    </div>
  );
}

type FieldProps = {
  readonly field: Field;
  readonly name: string;
  readonly label: ComponentChildren;
  readonly fault: string | undefined;
  readonly help: ComponentChildren;
};

function SecretField({ field, name, label, fault, help }: FieldProps): VNode {
  return (
    <div class="row">
      <label for={`secret-${name}`}>{label}</label>
      <input
        ref={field}
        id={`secret-${name}`}
        type="password"
        autocomplete={name === 'admin' ? 'current-password' : 'off'}
        spellcheck={false}
        aria-describedby={fault === undefined ? `help-${name}` : `fault-${name} help-${name}`}
        {...(fault !== undefined && { 'aria-invalid': true })}
      />
      {fault !== undefined && (
        <span class="err" id={`fault-${name}`} role="alert">
          <Icon name="warn" />
          {fault}
        </span>
      )}
      <span class="help" id={`help-${name}`}>
        {help}
      </span>
    </div>
  );
}
