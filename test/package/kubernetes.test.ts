/**
 * The manifest for Kubernetes, checked without a cluster: labels, ports, volumes and secrets name what is
 * there, probes ask for pages that the gateway has, and its settings are known and right.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { readConfig } from '../../server/config/config.ts';
import { settingNames } from '../../server/config/settings.ts';
import { PROBE_PATHS } from '../../server/http/probes.ts';

const ROOT = new URL('../..', import.meta.url).pathname;
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const PAGE = read('server/OPERATING.md');

type Labels = Readonly<Record<string, string>>;
type Named = { readonly name: string };
type Probe = { readonly httpGet?: { path: string; port: string }; readonly tcpSocket?: { port: string } };
type Container = Named & {
  readonly image: string;
  readonly command?: readonly string[];
  readonly ports: readonly (Named & { readonly containerPort: number })[];
  readonly env?: readonly (Named & { readonly value: string })[];
  readonly volumeMounts: readonly (Named & { readonly mountPath: string })[];
  readonly livenessProbe: Probe;
  readonly readinessProbe?: Probe;
  readonly startupProbe?: Probe;
};
type Pod = {
  readonly terminationGracePeriodSeconds?: number;
  readonly securityContext: { readonly runAsNonRoot: boolean };
  readonly containers: readonly [Container];
  readonly volumes: readonly (Named & { readonly secret?: { readonly secretName: string } })[];
};
type Kubernetes = {
  readonly kind: string;
  readonly metadata: Named & { readonly labels: Labels };
  readonly spec: {
    readonly replicas?: number;
    readonly serviceName?: string;
    readonly selector: Labels & { readonly matchLabels?: Labels };
    readonly template?: { readonly metadata: { readonly labels: Labels }; readonly spec: Pod };
    readonly ports?: readonly { readonly port: number; readonly targetPort: string }[];
    readonly volumeClaimTemplates?: readonly { readonly metadata: Named }[];
  };
};

const documents = parseAllDocuments(read('server/operating/kubernetes.yaml'));
const objects = documents.map((document) => document.toJS() as Kubernetes);
/** What kubectl applies where objects with this label are left out. */
const omit = (store: string) => objects.filter(({ metadata }) => metadata.labels.store !== store);
const hasAll = (labels: Labels, wanted: Labels) =>
  Object.entries(wanted).every(([name, value]) => labels[name] === value);

test('The manifest is YAML without a mistake, and each kind has its version of the API.', () => {
  const versions: Labels = { Service: 'v1', StatefulSet: 'apps/v1', Deployment: 'apps/v1' };
  for (const document of documents) {
    expect([...document.errors, ...document.warnings]).toEqual([]);
    const { kind, apiVersion } = document.toJS() as { kind: string; apiVersion: string };
    expect(apiVersion).toBe(kind === 'PodDisruptionBudget' ? 'policy/v1' : versions[kind]);
  }
});

const FORMS = [
  { title: 'one gateway on SQLite', omitted: 'valkey', kind: 'StatefulSet', replicas: 1, store: 'sqlite' },
  { title: 'gateways on Valkey', omitted: 'sqlite', kind: 'Deployment', replicas: 3, store: 'redis' },
] as const;

describe.each(FORMS)('the form of $title', ({ omitted, kind, replicas, store }) => {
  const form = omit(omitted);
  const workloads = form.filter(({ spec }) => spec.template !== undefined);
  const pods = workloads.flatMap(({ spec }) =>
    spec.template ? [{ ...spec.template, spec, pod: spec.template.spec }] : [],
  );
  const gateway = workloads.find(({ metadata }) => metadata.name === 'task-gateway');
  const [container] = gateway?.spec.template?.spec.containers ?? [];

  test('is chosen by the command of OPERATING.md, and names each object once', () => {
    expect(PAGE).toContain(`kubectl apply -f server/operating/kubernetes.yaml -l 'store!=${omitted}'`);
    const names = form.map((one) => `${one.kind} ${one.metadata.name}`);
    expect(new Set(names).size).toBe(names.length);
    expect([gateway?.kind, gateway?.spec.replicas]).toEqual([kind, replicas]);
  });

  test('has selectors that choose the pods of one workload, and ports that those have', () => {
    for (const { spec, metadata } of workloads) {
      expect(hasAll(spec.template?.metadata.labels ?? {}, spec.selector.matchLabels ?? { none: '' })).toBe(
        true,
      );
      if (spec.serviceName) expect(form).toContainEqual(expect.objectContaining({ kind: 'Service' }));
      expect(spec.serviceName ?? metadata.name).toBe(metadata.name);
    }
    for (const { kind: other, spec } of form.filter((one) => one.spec.template === undefined)) {
      const wanted = other === 'Service' ? spec.selector : (spec.selector.matchLabels ?? {});
      const chosen = pods.filter(({ metadata }) => hasAll(metadata.labels, wanted));
      expect(chosen).toHaveLength(1);
      const ports = chosen[0]?.pod.containers[0].ports.map(({ name }) => name);
      for (const { targetPort } of spec.ports ?? []) expect(ports).toContain(targetPort);
    }
  });

  test('has volumes for what is mounted, and no user root', () => {
    for (const { spec, pod } of pods) {
      const claims = (spec.volumeClaimTemplates ?? []).map(({ metadata }) => metadata.name);
      const there = [...claims, ...pod.volumes.map(({ name }) => name)];
      const mounted = pod.containers.flatMap(({ volumeMounts }) => volumeMounts.map(({ name }) => name));
      expect(mounted.toSorted()).toEqual(there.toSorted());
      expect(pod.securityContext.runAsNonRoot).toBe(true);
      expect(pod.containers[0].image).toMatch(/:\d+\.\d+\.\d+(-\w+)?$/);
    }
  });

  test('has probes for pages and ports that are there, and time for the end', () => {
    for (const { pod } of pods) {
      const [{ livenessProbe, readinessProbe, startupProbe, ports }] = pod.containers;
      const probes = [livenessProbe, readinessProbe, startupProbe].filter((probe) => probe !== undefined);
      for (const { httpGet, tcpSocket } of probes) {
        expect(ports.map(({ name }) => name)).toContain((httpGet ?? tcpSocket)?.port);
        if (httpGet) expect(PROBE_PATHS).toContain(httpGet.path);
      }
    }
    // A gateway without its store must not be restarted for that.
    expect(container?.livenessProbe.httpGet?.path).toBe('/livez');
    expect(container?.readinessProbe?.httpGet?.path).toBe('/readyz');
    expect(gateway?.spec.template?.spec.terminationGracePeriodSeconds).toBeGreaterThan(6);
  });

  test('has settings that the gateway knows, with which it starts', () => {
    const folder = mkdtempSync(join(tmpdir(), 'task-gateway-kubernetes-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const given = Object.fromEntries((container?.env ?? []).map(({ name, value }) => [name, value]));
    const known = settingNames();
    for (const name of Object.keys(given)) expect(known).toContain(name.replace(/_FILE$/, ''));
    const files = Object.entries(given).filter(([name]) => name.endsWith('_FILE'));
    const mount = container?.volumeMounts.find(({ name }) => name === 'secrets')?.mountPath;
    const env = { ...given };
    for (const [name, path] of files) {
      const [, key = ''] = new RegExp(`^${mount}/(\\w+)$`).exec(path) ?? [];
      const [, literal] = new RegExp(`--from-literal=${key}=(\\S+)`).exec(PAGE) ?? [];
      if (literal === undefined) throw new Error(`The command that makes the secret has no ${key}.`);
      const value =
        key === 'store' ? literal.replace('$VALKEY_PASSWORD', 'a-long-password') : `a-long-secret-for-${key}`;
      writeFileSync(join(folder, key), `${value}\n`);
      env[name] = join(folder, key);
    }
    const image = Object.fromEntries(
      (/^ENV (.+)$/m.exec(read('Dockerfile'))?.[1] ?? '').split(' ').map((pair) => pair.split('=')),
    ) as Record<string, string>;
    const answer = readConfig({ ...image, ...env });
    expect(answer).toMatchObject({ ok: true, warnings: [] });
    expect(answer.ok && answer.config.store.kind).toBe(store);
    expect(answer.ok && answer.config.isAgentAuthRequired).toBe(true);
    expect(container?.ports[0]?.containerPort).toBe(Number(image.PORT));
    const stored = answer.ok ? answer.config.store : null;
    if (stored?.kind === 'redis')
      expect(form.map(({ metadata }) => metadata.name)).toContain(
        stored.address.at.kind === 'one' && stored.address.at.endpoint.host,
      );
    else expect(container?.volumeMounts.map(({ mountPath }) => mountPath)).toContain('/data');
  });
});

test('The image and the Valkey are those of the other files.', () => {
  const { version } = JSON.parse(read('server/package.json')) as { version: string };
  const images = objects.flatMap(
    ({ spec }) => spec.template?.spec.containers.map(({ image }) => image) ?? [],
  );
  const { services } = parse(read('compose.replicas.yaml')) as { services: { valkey: { image: string } } };
  expect([...new Set(images)]).toEqual([`task-gateway:${version}`, services.valkey.image]);
  const command = objects.at(-1)?.spec.template?.spec.containers[0].command?.join(' ');
  for (const setting of ['appendonly yes', 'appendfsync always', 'maxmemory-policy noeviction'])
    expect(command).toContain(`--${setting}`);
});
