/** The console's entry: finds the folder it is in and shows the console. */
import { render } from 'preact';
import { App } from './app.tsx';
import { startRouting } from './routing/routes.ts';
import { applyTheme } from './theme.ts';
import './styles/index.css';

startRouting(import.meta.url);
applyTheme();
const container = document.querySelector('#console');
if (container) render(<App />, container);
