/**
 * `npm run mock`: Prism on the published document, for tests of programs that call the gateway. It prints its
 * limits. `PORT` and `HOST` may be set; the defaults are 4010 and 127.0.0.1.
 */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const host = process.env.HOST ?? '127.0.0.1';
const port = process.env.PORT ?? '4010';
const document = fileURLToPath(new URL('../../generated/openapi/task-gateway.3.1.json', import.meta.url));
const prism = fileURLToPath(
  new URL('../../node_modules/@stoplight/prism-cli/dist/index.js', import.meta.url),
);

console.log(`A mock of the Task Gateway's document, by Prism, on http://${host}:${port}
  It returns the document's examples. "Prefer: code=404" asks for another documented status.
  What it cannot do: any secret is right, nothing is stored, a stream is one finite response, and a body of
  malformed JSON hangs. For those, start the gateway: npm start
`);
const child = spawn(process.execPath, [prism, 'mock', '--host', host, '--port', port, document], {
  stdio: 'inherit',
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
child.on('exit', (code) => process.exit(code ?? 0));
