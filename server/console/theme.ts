/** Light or dark: as the system has it, until a person chooses. The choice lasts as long as the tab. */

const KEY = 'task-gateway.theme';

/** Applies the earlier choice, or the system's. */
export function applyTheme(): void {
  const chosen = sessionStorage.getItem(KEY);
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;
}

/** Switches between light and dark. */
export function toggleTheme(): void {
  const { dataset } = document.documentElement;
  const isDark = dataset.theme
    ? dataset.theme === 'dark'
    : matchMedia('(prefers-color-scheme: dark)').matches;
  dataset.theme = isDark ? 'light' : 'dark';
  sessionStorage.setItem(KEY, dataset.theme);
}
