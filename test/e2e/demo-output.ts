/**
 * The part of `npm run demo` about output: an agent that writes while it works, a reader whose connection is
 * cut, and a gateway that is killed in between. Nothing is lost and nothing is read twice. First the agent
 * asks, and the reader answers.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createAgent, type Handler } from '../../sdk/agent/index.ts';
import { createClient } from '../../sdk/index.ts';
import { startGateway } from '../harness/gateway-process.ts';
import { startTcpProxy } from '../harness/tcp-proxy.ts';

/** Writes one line. */
type Print = (tone: 'title' | 'client' | 'agent' | 'good' | 'quiet', text: string) => void;

const POEM = ['床前明月光，', '疑是地上霜。', '举头望明月，', '低头思故乡。'];
const LINE_MS = 900;
/** The connection is cut behind this piece, and the gateway is killed behind that one. */
const CUT_BEHIND = 3;
const KILL_BEHIND = 5;

const recite: Handler = async (_task, { write, ask }) => {
  const signed = await ask<boolean>('Shall the poem have its poet’s name?', { key: 'signed' });
  for (const [index, line] of POEM.entries()) {
    await write(line);
    await write({ line: index + 1 });
    await pause(LINE_MS);
  }
  if (signed) await write('李白');
  return { output: `${POEM.length} lines` };
};

/** Runs it with a gateway of its own, whose store is a file; resolves when everything is stopped again. */
export async function runOutputDemo(print: Print, auth: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'task-gateway-demo-'));
  const settings = { GATEWAY_AUTH: auth, STORE: `sqlite:${folder}/gateway.db`, LOG_LEVEL: 'info' };
  let gateway = await startGateway(settings);
  const { port } = new URL(gateway.baseUrl);
  const proxy = await startTcpProxy(Number(port));
  const agent = createAgent({
    baseUrl: gateway.baseUrl,
    auth,
    agentId: '诗人',
    tags: ['recite'],
    logLevel: 'off',
    handler: recite,
    onNotice({ kind }) {
      if (kind === 'unreachable')
        print('agent', '  agent   the gateway does not respond: keeps what it wrote');
      if (kind === 'reached') print('agent', '  agent   the gateway responds again: writes on');
    },
  });
  const client = createClient({ baseUrl: `http://127.0.0.1:${proxy.port}`, auth, logLevel: 'off' });
  const disturb = async (n: number): Promise<void> => {
    if (n === CUT_BEHIND) {
      print('title', 'The connection of the reader is cut …');
      await proxy.setFault('reset');
      await proxy.setFault(null);
    }
    if (n === KILL_BEHIND) {
      print('title', 'The gateway is killed, and started again …');
      await gateway.kill();
      gateway = await startGateway({ ...settings, PORT: port });
    }
  };
  try {
    await agent.start();
    const task = { task_type: 'recite', task_tags: ['recite'], payload: {}, queue_timeout: 30 };
    const { request_id } = await client.submitTask(task);
    const reading = client.readOutput(request_id, {
      onNotice({ kind }) {
        if (kind === 'down')
          print('client', '  client  the connection is lost: goes on behind the last piece');
      },
    });
    const numbers: number[] = [];
    for await (const piece of reading) {
      const { n, text, question, end } = piece;
      numbers.push(n);
      const shown =
        text ?? question?.prompt ?? (end ? piece.outcome : JSON.stringify(piece.data ?? piece.answer));
      print('client', `  client  ${n}: ${shown}`);
      if (question) await client.answerTask(request_id, { key: question.key, answer: true });
      await disturb(n);
    }
    const isWhole = numbers.every((n, index) => n === index + 1);
    print('good', `  client  ${numbers.length} pieces, ${isWhole ? 'each once and none lost' : 'NOT WHOLE'}`);
  } finally {
    await agent.stop({ drainMs: 1_000 });
    await proxy.close();
    await gateway.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
