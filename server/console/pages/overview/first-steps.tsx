/** Says how to start an agent and a task, until the gateway has had one of each. */
import type { VNode } from 'preact';
import { secrets } from '../../gateway/secrets.ts';
import { CopyButton } from '../../parts/copy-button.tsx';
import { Icon } from '../../parts/icon.tsx';
import { gatewayUrl, hrefOf } from '../../routing/routes.ts';

/** The public secret of a gateway that was given none. */
const DEFAULT_AUTH = 'task-gateway-default-secret';

/** Writes the first commands. A gateway secret other than the default comes from the reader's shell. */
export function writeCommands(
  url: string,
  gatewaySecret: string,
): { readonly agent: string; readonly submit: string } {
  const isDefault = gatewaySecret === '' || gatewaySecret === DEFAULT_AUTH;
  const absent = isDefault ? `-${DEFAULT_AUTH}` : '?must be set to the secret of the gateway';
  const body = `{"auth":"'"\${GATEWAY_AUTH:${absent}}"'","task_type":"hello","task_tags":["demo"],"queue_timeout":60,"payload":{"text":"你好"}}`;
  return {
    agent: `npx task-gateway agent exec --url ${url} --tag demo -- cat`,
    submit: `curl -sS ${url}/api/cli/tasks -H 'content-type: application/json' \\\n  -d '${body}'`,
  };
}

export function FirstSteps(): VNode {
  const url = gatewayUrl();
  const { agent, submit } = writeCommands(url, secrets.value?.gateway ?? '');
  return (
    <>
      <div class="head">
        <h1>Nothing has happened here yet</h1>
        <span class="muted">The gateway runs and its store answers. It has no agent and no task.</span>
      </div>
      <section class="panel narrow">
        <ol class="steps">
          <Step number={1} title="Start an agent">
            <p class="muted">
              Any program can be one. This one takes tasks with the tag <code>demo</code> and runs a command
              for each:
            </p>
            <Command text={agent} name="the command" />
            <p class="waits">
              <Icon name="pending" />
              No agent has registered yet. This page notices by itself.
            </p>
          </Step>
          <Step number={2} title="Submit a task">
            <p class="muted">
              It goes to any agent that shares a tag with it. Without an agent it ends at once as{' '}
              <code>无可用 Agent</code>.
            </p>
            <Command text={submit} name="the call" />
            <p class="waits">
              <Icon name="pending" />
              <span>
                No task has been submitted yet.{' '}
                <a class="link" href={hrefOf({ page: 'submit' })}>
                  Use the form instead
                </a>
              </span>
            </p>
          </Step>
          <Step number={3} title="Watch it here">
            <p class="muted">
              Waiting, running and free slots appear by tag; a task that does not run says why.
            </p>
          </Step>
        </ol>
        <footer>
          A pull agent needs no port: <code>POST /api/agent/register</code> with{' '}
          <code>"endpoint": "pull"</code>, then <code>/api/agent/claim</code>.{' '}
          <a class="link" href={`${url}/docs`}>
            API pages
          </a>
        </footer>
      </section>
    </>
  );
}

function Step(props: {
  readonly number: number;
  readonly title: string;
  readonly children: VNode[] | VNode;
}): VNode {
  return (
    <li>
      <span class="no">{props.number}</span>
      <div class="body">
        <h2>{props.title}</h2>
        {props.children}
      </div>
    </li>
  );
}

function Command({ text, name }: { readonly text: string; readonly name: string }): VNode {
  return (
    <div class="code">
      {text}
      <span class="copyat">
        <CopyButton text={text} label={`Copy ${name}`} done={`Copied ${name}.`} />
      </span>
    </div>
  );
}
