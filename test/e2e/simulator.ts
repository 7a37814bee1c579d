/**
 * `npm run simulator -- --port 4020 --host 127.0.0.1`: the simulator over HTTP, for programs that are not
 * JavaScript. It prints its addresses. `--allowed-hosts NAME` names one more name that it may be called by;
 * with `--real-time` its time moves by itself.
 */
import { readScriptOptions } from '../harness/script-options.ts';
import { serveSimulator } from '../harness/served-simulator.ts';

const options = readScriptOptions('npm run simulator', {
  port: { type: 'string', value: 'NUMBER', default: '4020' },
  host: { type: 'string', value: 'ADDRESS', default: '127.0.0.1' },
  'allowed-hosts': { type: 'string', value: 'NAME', multiple: true, default: [] },
  'real-time': { type: 'boolean', default: false },
});

const served = await serveSimulator({
  host: options.host,
  port: Number(options.port),
  allowedHosts: options['allowed-hosts'],
  realTime: options['real-time'],
}).catch((error: Error) => {
  console.error(`The simulator was not started. ${error.message}`);
  process.exit(1);
});
const { url, simulator } = served;
console.log(`The Task Gateway, simulated, on ${url}
  ${options['real-time'] ? 'Its time moves as yours does.' : 'Its time stands still until you move it.'} The secrets: ${simulator.options.auth}, ${simulator.adminAuth}
  An agent that takes each task with the tag pdf, reports 50 %, and dies:
    curl ${url}/__sim/agents -d '{"tags": ["pdf"], "does": "die", "after": 30}'
  A task, and ten minutes that pass at once:
    curl ${url}/api/cli/tasks -d '{"auth": "${simulator.options.auth}", "task_type": "t", "task_tags": ["pdf"], "payload": {}}'
    curl ${url}/__sim/clock/advance -d '{"seconds": 600}'
  What goes wrong, and all that went over the wire:
    curl ${url}/__sim/faults -d '{"fault": "busy", "operation": "getTask", "times": 1}'
    curl ${url}/__sim/transcript
  Each ${url}/worlds/NAME is a gateway by itself, with a clock of its own under ${url}/worlds/NAME/__sim/.
`);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void served.stop());
