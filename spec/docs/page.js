/**
 * The page at `/docs`: the gateway's own document, rendered by Swagger UI, with the code samples of each
 * operation. Everything comes from the gateway that serves the page, and every call it makes goes there; all
 * addresses are relative to the page, so it works below a path of a proxy too.
 */

/** The gateway's address as this page has it, without a slash at the end. */
const baseUrl = new URL('.', location.href).href.replace(/\/$/, '');

followColorScheme(matchMedia('(prefers-color-scheme: dark)'));
await showDocument();

/** Swagger UI has its dark colours under a class. */
function followColorScheme(dark) {
  const apply = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
  dark.addEventListener('change', apply);
  apply();
}

async function showDocument() {
  const target = document.getElementById('docs');
  try {
    const response = await fetch('openapi.3.2.json');
    if (!response.ok) throw new Error(`it responded with ${response.status}`);
    const spec = await response.json();
    spec.servers = [{ url: baseUrl, description: 'This gateway.' }];
    const [description, guide] = splitAtHeading(spec.info.description);
    spec.info.description = description;
    globalThis.SwaggerUIBundle({
      ...{ spec, domNode: target, plugins: [foldGuide(guide), codeSamples, usableStream] },
      ...{ deepLinking: true, displayRequestDuration: true, validatorUrl: null },
      ...{ docExpansion: 'list', defaultModelsExpandDepth: 0 },
    });
  } catch (error) {
    const text = document.createElement('p');
    text.className = 'notice';
    text.textContent = `The gateway's document could not be read: ${error.message}. Load the page again.`;
    target.replaceChildren(text);
  }
}

/** The text before its first heading, and the rest. */
function splitAtHeading(text) {
  const at = text.search(/^#/m);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at)];
}

/** Shows the long part of the description folded, so that the operations are not pages below. */
function foldGuide(guide) {
  return ({ React }) => {
    const h = React.createElement;
    const withGuide = (Original) => (props) => {
      const Markdown = props.getComponent('Markdown', true);
      return h(React.Fragment, null, [
        h(Original, { ...props, key: 'info' }),
        guide !== '' &&
          h('details', { key: 'guide', className: 'guide wrapper' }, [
            h('summary', { key: 'summary' }, 'Guide: what no schema can say'),
            h(Markdown, { key: 'text', source: guide }),
          ]),
      ]);
    };
    return { wrapComponents: { InfoContainer: withGuide } };
  };
}

/** A call of the event stream has no end that the page could wait for. */
function usableStream() {
  const allowTryItOutFor = (original) => (state, path, method) =>
    path !== '/api/cli/events' && original(state, path, method);
  return { statePlugins: { spec: { wrapSelectors: { allowTryItOutFor } } } };
}

/** Shows an operation's `x-codeSamples` above its parameters. */
function codeSamples({ React }) {
  const h = React.createElement;
  // Browsers have it on https and on the machine itself.
  const canCopy = navigator.clipboard !== undefined;
  const copyButton = { key: 'copy', type: 'button', className: 'btn samples-copy' };

  function Samples({ samples, needs }) {
    const [selected, select] = React.useState(0);
    const [copied, setCopied] = React.useState('');
    const { source } = samples[selected];
    const copy = (text) => navigator.clipboard.writeText(text).then(() => setCopied(text));
    const choices = samples.map(({ label }, index) =>
      h('button', {
        ...{ key: label, type: 'button', className: 'samples-choice' },
        ...{ 'aria-pressed': index === selected, onClick: () => select(index) },
        ...{ children: label },
      }),
    );
    const label = copied === source ? 'Copied' : 'Copy';
    return h('section', { className: 'samples', 'aria-label': 'Code samples' }, [
      h('div', { key: 'head', className: 'opblock-section-header samples-head' }, [
        h('h4', { key: 'title' }, 'Code samples'),
        h('div', { key: 'choices', role: 'group', className: 'samples-choices' }, choices),
        canCopy && h('button', { ...copyButton, onClick: () => copy(source) }, label),
      ]),
      h('pre', { key: 'source', className: 'samples-source', tabIndex: 0 }, source),
      h('p', { key: 'needs', className: 'samples-needs' }, [
        'Set before: ',
        h('code', { key: 'code' }, needs),
      ]),
    ]);
  }

  const withSamples = (Original) => (props) => {
    const operation = props.specSelectors.specJson().getIn(props.specPath.butLast());
    const samples = operation?.get('x-codeSamples')?.toJS();
    return h(React.Fragment, null, [
      samples && h(Samples, { key: 'samples', samples, needs: describeVariables(samples) }),
      h(Original, { ...props, key: 'parameters' }),
    ]);
  };
  return { wrapComponents: { parameters: withSamples } };
}

/** The variables that the samples of an operation need, as a shell sets them. */
function describeVariables(samples) {
  const isAdmin = samples.some(({ source }) => source.includes('TASK_GATEWAY_ADMIN_AUTH'));
  const secrets = isAdmin ? ['TASK_GATEWAY_AUTH', 'TASK_GATEWAY_ADMIN_AUTH'] : ['TASK_GATEWAY_AUTH'];
  return `export TASK_GATEWAY_URL=${baseUrl} ${secrets.map((name) => `${name}=…`).join(' ')}`;
}
