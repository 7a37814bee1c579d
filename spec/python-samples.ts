/** The calls as a program in Python makes them, with its standard library alone. */
import type { Json } from './document.ts';
import type { SampleCall } from './sample-call.ts';
import { writePythonValue } from './written-values.ts';

/** Writes the call of an operation; it prints the response as it comes. */
export function buildPython(call: SampleCall): string {
  const query = new URLSearchParams(call.query.map(([name, value]) => [name, String(value)]));
  const path = call.path.replace(/\{(\w+)\}/g, (_, name) =>
    encodeURIComponent(String(call.pathValues[name])),
  );
  const target = JSON.stringify(`${path}${query.size > 0 ? `?${query}` : ''}`);
  const headers = [
    ...(call.body ? ['"Content-Type": "application/json"'] : []),
    ...(call.secret === 'Authorization'
      ? ['"Authorization": "Bearer " + os.environ["TASK_GATEWAY_AUTH"]']
      : []),
    ...(call.secret === 'X-Admin-Auth' ? ['"X-Admin-Auth": os.environ["TASK_GATEWAY_ADMIN_AUTH"]'] : []),
    ...call.headers.map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(String(value))}`),
  ];
  const body = call.body && writeBody(call.body, call.secret === undefined);
  const read = call.isStream
    ? 'for line in response:\n        print(line.decode(), end="", flush=True)'
    : 'print(response.read().decode())';
  return [
    `import ${body ? 'json, ' : ''}os, urllib.request`,
    '',
    ...(body ? [`body = ${body}`] : []),
    'request = urllib.request.Request(',
    `    os.environ["TASK_GATEWAY_URL"] + ${target},`,
    ...(body ? ['    data=json.dumps(body).encode(),'] : []),
    `    headers={${headers.join(', ')}},`,
    `    method="${call.method.toUpperCase()}",`,
    ')',
    'with urllib.request.urlopen(request) as response:',
    `    ${read}`,
  ].join('\n');
}

function writeBody(body: Json, hasSecret: boolean): string {
  const text = writePythonValue(hasSecret ? { auth: SECRET_HERE, ...body } : body);
  return text.replace(JSON.stringify(SECRET_HERE), 'os.environ["TASK_GATEWAY_AUTH"]');
}

/** Stands for the secret until the text is written. */
const SECRET_HERE = '$TASK_GATEWAY_AUTH';

/** Writes an agent that receives pushes: it takes each with 202, and reports after the response. */
export function buildPythonAgent({ body }: SampleCall): string {
  const { agent_id, task_tags } = body ?? {};
  return `import json, os, urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

AGENT_ID = ${writePythonValue(agent_id)}

def call(path, body):
    body = {"auth": os.environ["TASK_GATEWAY_AUTH"], "agent_id": AGENT_ID, **body}
    url = os.environ["TASK_GATEWAY_URL"] + path
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    urllib.request.urlopen(request).close()

class Tasks(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        task = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(202)
        self.send_header("Content-Length", "0")
        self.end_headers()
        output = f"Translated {task['payload']['pages']} pages"
        report = {"request_id": task["request_id"], "status": "success", "result": {"output": output}}
        call("/api/agent/result", report)

server = ThreadingHTTPServer(("127.0.0.1", 9000), Tasks)
tags = ${writePythonValue(task_tags)}
call("/api/agent/register", {"endpoint": "http://127.0.0.1:9000/", "agent_tags": tags})
server.serve_forever()`;
}
