/**
 * The page at `/docs`: one of the gateway's two documents, rendered by Swagger UI, with the code samples of
 * each operation: that of clients and agents, or the administrator's at `docs?document=admin`. Everything
 * comes from the gateway that serves the page, and every call it makes goes there; all addresses are relative
 * to the page, so it works below a path of a proxy too. A secret that is typed under "Authorize" is sent by
 * every call that takes it, wherever the call has it: in a header or in the body.
 */

/** The gateway's address as this page reaches it, without a slash at the end. */
const baseUrl = new URL('.', location.href).href.replace(/\/$/, '');

/**
 * Whether the page shows the administrator's document: the address asks for it, or names an operation of
 * the group `admin`, as `docs#/admin/getOverview` does.
 */
const isAdminShown =
  new URLSearchParams(location.search).get('document') === 'admin' ||
  /^#(\/|operations-)admin\b/.test(location.hash);

markShown();
followColorScheme(matchMedia('(prefers-color-scheme: dark)'));
await Promise.all([showDocument(), linkConsole()]);

/** Marks the document that is shown, in the switch between the two. */
function markShown() {
  const links = document.querySelectorAll('.switch a');
  links[isAdminShown ? 1 : 0].setAttribute('aria-current', 'page');
  if (isAdminShown) document.title = 'Task Gateway: administration API';
}

/** Sets the class that switches Swagger UI to its dark colours. */
function followColorScheme(dark) {
  const apply = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
  dark.addEventListener('change', apply);
  apply();
}

async function showDocument() {
  const target = document.getElementById('docs');
  try {
    const response = await fetch(isAdminShown ? 'docs/openapi.admin.json' : 'docs/openapi.3.2.json');
    if (!response.ok) throw new Error(`it responded with ${response.status}`);
    const spec = await response.json();
    spec.servers = [{ url: baseUrl, description: 'This gateway.' }];
    const [description, guide] = splitAtHeading(spec.info.description);
    spec.info.description = description;
    describeSecurity(spec);
    const ui = globalThis.SwaggerUIBundle({
      spec,
      domNode: target,
      plugins: [foldGuide(guide), codeSamples, usableStream],
      deepLinking: true,
      displayRequestDuration: true,
      validatorUrl: null,
      docExpansion: 'list',
      defaultModelsExpandDepth: 0,
      requestInterceptor: (request) =>
        addSecret(request, ui.authSelectors.authorized()?.getIn(['HeaderAuth', 'value'])),
    });
    showContents(spec);
  } catch (error) {
    const text = document.createElement('p');
    text.className = 'notice';
    text.textContent = `The gateway's document could not be read: ${error.message}. Load the page again.`;
    target.replaceChildren(text);
  }
}

function listOperations(spec) {
  return Object.values(spec.paths).flatMap((item) => Object.values(item).filter((one) => one.operationId));
}

/**
 * Says in words which secret each operation needs, and gives a lock to each that cannot be called without
 * one. It leaves out the secret in the query, because the header does the same.
 */
function describeSecurity(spec) {
  delete spec.components.securitySchemes?.QueryAuth;
  for (const operation of listOperations(spec)) {
    const security = operation.security ?? [];
    const takes = (name) => security.some((one) => name in one);
    const { properties = {}, required = [] } = readBodySchema(spec, operation);
    const mayLack = security.some((one) => Object.keys(one).length === 0);
    // Where the administrator's secret will do, one of the two is needed.
    const isOptional = mayLack && !takes('AdminAuth') && !required.includes('auth');
    const schemes = [
      ...(takes('HeaderAuth') || 'auth' in properties ? ['HeaderAuth'] : []),
      ...(takes('AdminAuth') ? ['AdminAuth'] : []),
    ];
    operation['x-needs'] = describeNeed(schemes, isOptional);
    operation.security = isOptional ? [] : schemes.map((name) => ({ [name]: [] }));
  }
}

function describeNeed(schemes, isOptional) {
  if (isOptional) return 'no secret, unless the gateway requires its own of agents';
  const words = { HeaderAuth: 'the gateway secret', AdminAuth: 'the administrator’s secret' };
  return schemes.map((name) => words[name]).join(' or ') || 'no secret';
}

function readBodySchema(spec, { requestBody }) {
  const { schema = {} } = requestBody?.content?.['application/json'] ?? {};
  const name = schema.$ref?.split('/').at(-1);
  return name === undefined ? schema : spec.components.schemas[name];
}

/**
 * Puts the secret that was typed wherever a call takes it, also in place of the one in the example's body.
 */
function addSecret(request, secret) {
  const isOfAdmin = 'X-Admin-Auth' in request.headers;
  const body = typeof request.body === 'string' ? parseObject(request.body) : null;
  const hasSecret = typeof body?.auth === 'string';
  if (secret && /\/api\/(cli|agent)\//.test(request.url))
    request.headers.Authorization ??= `Bearer ${secret}`;
  if (hasSecret && secret) body.auth = secret;
  // With the administrator's secret alone a call that takes either has none in its body.
  else if (hasSecret && isOfAdmin) delete body.auth;
  if (hasSecret) request.body = JSON.stringify(body, null, 2);
  return request;
}

function parseObject(text) {
  try {
    const value = JSON.parse(text);
    return typeof value === 'object' && !Array.isArray(value) ? value : null;
  } catch {
    // Sent as it was typed: the gateway says what is wrong with it.
    return null;
  }
}

/** Shows links to all operations above them, group by group. */
function showContents(spec) {
  const groups = spec.tags.map(({ name, description }) => {
    const operations = listOperations(spec).filter(({ tags }) => tags.includes(name));
    const links = operations.map(({ operationId, summary }) => [
      ...[buildLink(`#operations-${name}-${operationId}`, summary), ' '],
    ]);
    const group = document.createElement('p');
    group.hidden = operations.length === 0;
    const title = document.createElement('b');
    title.textContent = name;
    title.title = description;
    group.append(title, ' ', ...links.flat());
    return group;
  });
  const contents = document.getElementById('contents');
  contents.append(...groups);
  contents.hidden = false;
}

function buildLink(href, text) {
  const link = document.createElement('a');
  link.href = href;
  link.textContent = text;
  return link;
}

/** Links the console where the gateway serves one. */
async function linkConsole() {
  const { ok } = await fetch('console/', { method: 'HEAD' }).catch(() => ({ ok: false }));
  if (ok) document.querySelector('.documents').prepend(buildLink('console/', 'Console'));
}

/** Splits a text before its first heading. */
function splitAtHeading(text) {
  const at = text.search(/^#/m);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at)];
}

/** Folds the guide, so that the operations do not begin pages below. */
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

/** Offers no trial call of the event stream, which has no end that the page could wait for. */
function usableStream() {
  const allowTryItOutFor = (original) => (state, path, method) =>
    path !== '/api/cli/events' && original(state, path, method);
  return { statePlugins: { spec: { wrapSelectors: { allowTryItOutFor } } } };
}

/** Shows what an operation needs, and its `x-codeSamples`, above its parameters. */
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
        key: label,
        type: 'button',
        className: 'samples-choice',
        'aria-pressed': index === selected,
        onClick: () => select(index),
        children: label,
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
    const need = operation?.get('x-needs');
    return h(React.Fragment, null, [
      need && h('p', { key: 'need', className: 'samples-needs operation-need' }, `Needs ${need}.`),
      samples && h(Samples, { key: 'samples', samples, needs: describeVariables(samples) }),
      h(Original, { ...props, key: 'parameters' }),
    ]);
  };
  return { wrapComponents: { parameters: withSamples } };
}

/** Writes the shell command that sets the variables which an operation's samples need. */
function describeVariables(samples) {
  const isAdmin = samples.some(({ source }) => source.includes('TASK_GATEWAY_ADMIN_AUTH'));
  const secrets = isAdmin ? ['TASK_GATEWAY_AUTH', 'TASK_GATEWAY_ADMIN_AUTH'] : ['TASK_GATEWAY_AUTH'];
  return `export TASK_GATEWAY_URL=${baseUrl} ${secrets.map((name) => `${name}=…`).join(' ')}`;
}
