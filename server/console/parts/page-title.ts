/** The title of the browser's tab. */
import { useEffect } from 'preact/hooks';

/** Names the page in the tab's title while it is shown. */
export function usePageTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Task Gateway`;
  }, [title]);
}
