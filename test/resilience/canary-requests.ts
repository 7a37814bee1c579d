/** Requests that carry the secrets of a gateway in every right and wrong way. */
import { buildCall, OPERATIONS } from '../contract/usual-calls.ts';

/** Each holds characters that are escaped in a URL and in JSON. */
export const CANARY = {
  gateway: 'gw/canary+1=&%25"\\9b1f0c77',
  gatewayPrevious: 'gw-before/canary+2=&%25"\\57aa',
  admin: 'admin/canary+3=&%25"\\c0ffee42',
  adminPrevious: 'admin-before/canary+4=&%"\\beef',
  push: 'whsec_Y2FuYXJ5LWZpdmUtb2YtcHVzaC1zZWNyZXRz',
  pushPrevious: 'push-before/canary+6=&%25"\\d00d',
};
const secrets = { gateway: CANARY.gateway, admin: CANARY.admin };

/** A request as text; the connection closes after it. */
export function writeRequest(method: string, target: string, headers: readonly string[], body = ''): string {
  const lines = [`${method} ${target} HTTP/1.1`, 'Host: a', 'Connection: close', ...headers];
  if (body !== '') lines.push(`Content-Length: ${Buffer.byteLength(body)}`);
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}

/** A secret, and wrong ones that contain it. */
const spoil = (secret: string): readonly string[] => [
  secret,
  `${secret}x`,
  `x${secret}`,
  `${secret}\u0000`,
  `${secret},${secret}`,
  secret.toUpperCase(),
];

/** Every operation with every secret wherever a caller could put it, right or not. */
export function listRequests(): readonly string[] {
  const requests: string[] = [];
  for (const operationId of OPERATIONS) {
    const { method, path, headers: own = {}, body } = buildCall(operationId, secrets, {}, 'nobody');
    const [bare = path] = path.split('?');
    const usual = Object.entries(own).map(([name, value]) => `${name}: ${value}`);
    for (const secret of Object.values(CANARY).flatMap(spoil)) {
      const quoted = encodeURIComponent(secret);
      const header = secret.replaceAll('\0', '');
      const json = JSON.stringify(secret);
      const glue = path.includes('?') ? '&' : '?';
      const asText = body === undefined ? '' : String(body);
      // A right subscription would not end.
      const wrong = operationId === 'subscribeEvents' ? '&cli_session_id=x' : '';
      requests.push(
        writeRequest(method, `${bare}?auth=${quoted}${wrong}${wrong}`, usual, asText),
        writeRequest(method, `${path}${glue}auth=${quoted}`, usual, asText),
        writeRequest(method, `${bare}/${quoted}`, usual, asText),
        writeRequest(
          method,
          `${bare}?${quoted}=${quoted}${wrong}${wrong}`,
          [`Authorization: Bearer ${header}`],
          asText,
        ),
        writeRequest(method, `${bare}?wait=${quoted}&limit=${quoted}&status=${quoted}&cursor=${quoted}`, [
          `X-Admin-Auth: ${header}`,
          `Cookie: auth=${header}`,
          `Referer: http://a/?auth=${quoted}`,
          `User-Agent: ${header}`,
          `Authorization: Basic ${btoa(`:${header}`)}`,
        ]),
      );
      if (body === undefined) continue;
      for (const spoilt of [
        asText.replace('{', `{"auth":${json},`).replace('}', ''),
        `{"auth":[${json}],"agent_id":7,${json}:${json}}`,
        `{"auth":{${json}:${json}},"agent_id":"a"}`,
        `{"auth":${json},"agent_id":"nobody","task_type":7,"endpoint":"${quoted}://x","progress":${json}}`,
        `auth=${quoted}`,
        json,
      ])
        requests.push(writeRequest(method, bare, ['Content-Type: application/json'], spoilt));
    }
  }
  return requests;
}

/** What is not HTTP, or a request that no operation serves. */
export function listOddities(): readonly string[] {
  const quoted = encodeURIComponent(CANARY.gateway);
  return [
    `GET /?auth=${quoted} HTTP/9.9\r\n\r\n`,
    `${CANARY.gateway}\r\n\r\n`,
    `GET / HTTP/1.1\r\nHost: a\r\nX-Admin-Auth ${CANARY.admin}\r\n\r\n`,
    writeRequest('GET', `/?auth=${quoted}`, [`X: ${CANARY.admin.repeat(800)}`]),
    writeRequest('DELETE', `/api/cli/tasks?auth=${quoted}`, []),
    writeRequest('GET', `/nowhere/${quoted}?auth=${quoted}`, []),
    writeRequest('OPTIONS', `/api/cli/tasks?auth=${quoted}`, [`Origin: http://${CANARY.admin}`]),
    ...[
      '/',
      '/livez',
      '/readyz',
      '/metrics',
      '/openapi.json',
      '/openapi.yaml',
      '/openapi.3.2.json',
      '/openapi.admin.json',
      '/openapi.agent.json',
    ].map((page) =>
      writeRequest('GET', `${page}?auth=${quoted}`, [
        `X-Admin-Auth: ${CANARY.admin}`,
        `If-None-Match: ${CANARY.admin}`,
      ]),
    ),
  ];
}
