/** The console: the page for signing in, or the frame with the page of the address. */
import { computed } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import { ConsoleContext } from './gateway/console.ts';
import { createConsole } from './gateway/create-console.ts';
import { type Secrets, secrets } from './gateway/secrets.ts';
import { NoPage } from './pages/no-page.tsx';
import { SignIn } from './pages/sign-in.tsx';
import { loadLater } from './parts/load-later.tsx';
import { address, type Route } from './routing/routes.ts';
import { Frame } from './shell/frame.tsx';

// Each page is loaded when a reader opens it.
const OverviewPage = loadLater(() => import('./pages/overview.tsx').then((part) => part.OverviewPage));
const TasksPage = loadLater(() => import('./pages/tasks.tsx').then((part) => part.TasksPage));
const TaskPage = loadLater(() => import('./pages/task.tsx').then((part) => part.TaskPage));
const AgentsPage = loadLater(() => import('./pages/agents.tsx').then((part) => part.AgentsPage));
const AgentPage = loadLater(() => import('./pages/agent.tsx').then((part) => part.AgentPage));
const EventsPage = loadLater(() => import('./pages/events.tsx').then((part) => part.EventsPage));
const SubmitPage = loadLater(() => import('./pages/submit.tsx').then((part) => part.SubmitPage));

const route = computed(() => address.value.route);

export function App(): VNode {
  const found = secrets.value;
  return found ? <SignedIn key={`${found.admin}\n${found.gateway}`} secrets={found} /> : <SignIn />;
}

function SignedIn(props: { readonly secrets: Secrets }): VNode {
  const console = useMemo(() => createConsole(props.secrets), [props.secrets]);
  useEffect(() => () => console.stop(), [console]);
  return (
    <ConsoleContext.Provider value={console}>
      <Frame>
        <Page route={route.value} />
      </Frame>
    </ConsoleContext.Provider>
  );
}

/** Draws the page of a route. Another task or agent gets a fresh page. */
function Page({ route }: { readonly route: Route }): VNode {
  switch (route.page) {
    case 'overview':
      return <OverviewPage />;
    case 'tasks':
      return <TasksPage />;
    case 'task':
      return <TaskPage key={route.request_id} request_id={route.request_id} />;
    case 'agents':
      return <AgentsPage />;
    case 'agent':
      return <AgentPage key={route.agent_id} agent_id={route.agent_id} />;
    case 'events':
      return <EventsPage />;
    case 'submit':
      return <SubmitPage />;
    case 'none':
      return <NoPage />;
  }
}
