/** The title of the browser's tab. */
import { useEffect } from 'preact/hooks';

/** Sets the tab's title while the page is shown. */
export function usePageTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Task Gateway`;
  }, [title]);
}
