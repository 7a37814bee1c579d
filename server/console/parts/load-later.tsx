/** Pages whose script is loaded when they are first shown. */
import type { FunctionComponent, VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';

/**
 * Creates a page from a function that loads it. The page shows nothing until it is loaded. If it cannot be
 * loaded, it says so.
 */
export function loadLater<Props extends object>(
  load: () => Promise<FunctionComponent<Props>>,
): FunctionComponent<Props> {
  let loaded: FunctionComponent<Props> | undefined;
  return function LoadedPage(props) {
    const [tries, setTries] = useState(0);
    const [isFailed, setFailed] = useState(false);
    useEffect(() => {
      if (loaded) return;
      load()
        .then((page) => {
          loaded = page;
          setTries(tries + 1);
        })
        .catch(() => setFailed(true));
    }, []);
    if (loaded) {
      const Page = loaded;
      return <Page {...props} />;
    }
    return isFailed ? <NotLoaded /> : null;
  };
}

/**
 * Offers to load the whole console again, because browsers do not retry a script that they could not load.
 */
function NotLoaded(): VNode {
  return (
    <section class="panel narrow">
      <div class="in">
        <h1>This page could not be loaded</h1>
        <p class="muted">
          The gateway did not answer, or another version of it runs now. The address and the secrets of this
          tab are kept.
        </p>
        <p>
          <button class="btn" type="button" onClick={() => location.reload()}>
            Load the console again
          </button>
        </p>
      </div>
    </section>
  );
}
