// Keeps the token of this page in its tab, and out of the address, which people copy.

const KEY = `token of ${location.pathname}`;

/** The token of those who may change something; null without one. A reload of the tab keeps it. */
export const token = taken() ?? stored((storage) => storage.getItem(KEY));

// Whoever adds the token to the address of an open page gets the page with it; an empty one removes it.
addEventListener('hashchange', () => taken() !== null && location.reload());

function taken() {
  const kept = new URLSearchParams(location.hash.slice(1));
  const found = kept.get('token');
  if (found !== null) {
    kept.delete('token');
    const rest = kept.toString();
    history.replaceState(null, '', `${location.pathname}${location.search}${rest && `#${rest}`}`);
    stored((storage) => (found ? storage.setItem(KEY, found) : storage.removeItem(KEY)));
  }
  return found;
}

/** Returns null where a browser keeps nothing for pages. */
function stored(use) {
  try {
    return use(sessionStorage);
  } catch {
    return null;
  }
}
