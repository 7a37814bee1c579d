/**
 * An agent around a language model with an OpenAI-compatible endpoint (OpenAI, Ollama, vLLM, llama.cpp …). It
 * writes the words as they come, sends the first sentence as the reply, and stops the model when the task is
 * cancelled or times out.
 *
 *     TASK_GATEWAY_URL=http://127.0.0.1:8080 TASK_GATEWAY_AUTH=… \
 *       LLM_URL=http://127.0.0.1:11434/v1 LLM_MODEL=llama3.2 LLM_KEY=… node llm-agent.ts
 */
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { runAgent } from '@task-gateway/sdk/agent';

const { LLM_URL = 'http://127.0.0.1:11434/v1', LLM_MODEL = 'llama3.2', LLM_KEY = 'none' } = process.env;

await runAgent<{ prompt: string }, { output: string; model: string }>({
  tags: ['llm'],
  maxConcurrent: 2,
  async handler({ payload }, { signal, reply, write }) {
    let output = '';
    for await (const words of complete(payload.prompt, signal)) {
      output += words;
      await write(words);
      const [sentence] = /^.*?[.!?。！？]/s.exec(output) ?? [];
      // Only the first reply counts; clients can read it while the rest is written.
      if (sentence) reply(sentence);
    }
    return { output, model: LLM_MODEL };
  },
});

/** Yields the model's words as they come. */
async function* complete(prompt: string, signal: AbortSignal): AsyncGenerator<string> {
  const response = await fetch(`${LLM_URL}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${LLM_KEY}` },
    body: JSON.stringify({ model: LLM_MODEL, stream: true, messages: [{ role: 'user', content: prompt }] }),
    signal,
  });
  // The error becomes the task's error_info, so its reader learns what the model's server said.
  if (!response.ok || !response.body) {
    throw new Error(`The model responded with ${response.status}: ${(await response.text()).slice(0, 500)}`);
  }
  const body = Readable.fromWeb(response.body as ReadableStream);
  for await (const line of createInterface({ input: body })) {
    const [, data] = /^data: ?(.*)/.exec(line) ?? [];
    if (data === undefined) continue;
    if (data === '[DONE]') return;
    yield JSON.parse(data).choices[0]?.delta?.content ?? '';
  }
  throw new Error('The model broke off: its stream has no end.');
}
