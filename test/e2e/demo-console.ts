/**
 * `npm run demo -- --console`: a gateway that is busy, to look at in its console. Tasks of several types come
 * all the time; some fail, some wait, some find no agent. It goes on until it is interrupted.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { BadRequestError, createClient, type TaskGatewayClient } from '../../sdk/index.ts';
import { startGateway } from '../harness/gateway-process.ts';
import { createDraw, type Draw, startDemoAgents } from './demo-agents.ts';

type Submission = Parameters<TaskGatewayClient['submitTask']>[0];

/** One kind of task, and how often it comes beside the others. */
type Kind = { readonly weight: number; readonly build: (draw: Draw) => Submission };

const SESSIONS = ['nightly-构建-🌙', 'web-checkout', 'adam@laptop', 'batch-0047'] as const;

function pick<T>(draw: Draw, choices: readonly T[]): T {
  const found = choices[Math.floor(draw() * choices.length)];
  if (found === undefined) throw new Error('There is nothing to draw from.');
  return found;
}

const KINDS: readonly Kind[] = [
  {
    weight: 4,
    build: (draw) => ({
      task_type: 'image.generate',
      task_tags: ['gpu'],
      queue_timeout: 120,
      payload: {
        prompt: pick(draw, ['a lighthouse at dusk, 35 mm, film grain', 'three paper boats, overhead']),
        steps: 30,
        seed: Math.floor(draw() * 1e9),
        size: [1024, 1024],
      },
    }),
  },
  {
    weight: 5,
    build: (draw) => ({
      task_type: 'translate',
      task_tags: ['translate', pick(draw, ['zh', 'ja'])],
      queue_timeout: 30,
      payload: {
        text: pick(draw, ['请把第三季度报告翻译成英文,保留表格和脚注', 'Guten Tag', 'is this on? 👋🏽']),
        to: pick(draw, ['en', 'ja']),
      },
    }),
  },
  {
    weight: 6,
    build: (draw) => ({
      task_type: 'embed.batch',
      task_tags: ['embed'],
      payload: { model: 'small-v3', texts: pick(draw, [64, 512, 4096]), dims: 768 },
    }),
  },
  {
    weight: 3,
    build: (draw) => ({
      task_type: 'browse.capture',
      task_tags: ['browser'],
      queue_timeout: 10,
      payload: { url: `https://example.org/status/${Math.floor(draw() * 90)}`, width: 390, full: true },
    }),
  },
  {
    weight: 2,
    build: (draw) => ({
      task_type: '视频转码',
      task_tags: ['视频转码'],
      queue_timeout: 300,
      payload: {
        input: `s3://media/发布会-第${pick(draw, ['二', '三'])}场.mov`,
        codec: 'av1',
        crf: 28,
        scale: [3840, 2160],
        audio: { codec: 'opus', kbit: 128 },
      },
    }),
  },
  {
    // So short that many time out.
    weight: 1,
    build: () => ({
      task_type: 'ocr.page',
      task_tags: ['ocr'],
      timeout: 5,
      queue_timeout: 5,
      payload: { scan: 'Rechnung-2026-11-№-0047.tiff', lang: ['de', 'en'], dpi: 300 },
    }),
  },
  {
    // No agent has this tag.
    weight: 1,
    build: (draw) => ({
      task_type: 'lora.train',
      task_tags: ['gpu2'],
      ...(draw() < 0.5 && { queue_timeout: 60 }),
      payload: { dataset: `product-shots-v${pick(draw, [13, 14])}`, epochs: 4, base: 'xl-2', notify: null },
    }),
  },
];
const DECK = KINDS.flatMap((kind) => Array.from({ length: kind.weight }, () => kind));

/** Tasks that are there when the console opens, and the time between two from then on. */
const FIRST_COUNT = 80;
const STEP_MS = 900;
/** This share is cancelled by its client. */
const CANCELLED_SHARE = 0.04;

/** Submits tasks until the signal fires. */
async function submitTasks(client: TaskGatewayClient, draw: Draw, signal: AbortSignal): Promise<void> {
  const submit = async (): Promise<void> => {
    const submission = { ...pick(draw, DECK).build(draw), cli_session_id: pick(draw, SESSIONS) };
    const task = await client.submitTask(submission, { signal });
    if (draw() < CANCELLED_SHARE) await cancelOpen(client, task.request_id, signal);
  };
  await client.submitTask({ task_type: 'archive.all', task_tags: ['archive'], payload: {}, timeout: 86_400 });
  for (let count = 0; count < FIRST_COUNT; count += 1) await submit();
  for (;;) {
    await pause(STEP_MS * (0.5 + draw()), undefined, { signal });
    await submit();
  }
}

/** Cancels a task unless it has ended meanwhile. */
async function cancelOpen(client: TaskGatewayClient, request_id: string, signal: AbortSignal): Promise<void> {
  try {
    await client.cancelTask(request_id, { signal });
  } catch (error) {
    if (!(error instanceof BadRequestError)) throw error;
  }
}

/** Runs on a port, 0 for a free one, until the signal fires; resolves when everything is stopped again. */
export async function runConsoleDemo(
  print: (text: string) => void,
  port: string,
  signal: AbortSignal,
): Promise<void> {
  const secret = (): string => randomBytes(12).toString('hex');
  const [auth, admin] = [secret(), secret()];
  const pushSecret = `whsec_${randomBytes(24).toString('base64')}`;
  const secrets = { GATEWAY_AUTH: auth, ADMIN_AUTH: admin, PUSH_SECRET: pushSecret };
  const gateway = await startGateway({ ...secrets, LOG_LEVEL: 'info', PORT: port });
  const draw = createDraw(20_261_122);
  const client = createClient({ baseUrl: gateway.baseUrl, auth });
  const stopAgents = await startDemoAgents({ baseUrl: gateway.baseUrl, auth, pushSecret }, draw);
  print(`The console of a busy gateway: ${gateway.baseUrl}/console/
  admin secret    ${admin}    to look at everything and to cancel
  gateway secret  ${auth}    to submit, and to follow the events of a session
Seven agents work, one drains, one takes no push, one is silent. No agent has the tag gpu2.
Ctrl C stops it.`);
  try {
    await submitTasks(client, draw, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    await stopAgents();
    await gateway.stop();
  }
}
