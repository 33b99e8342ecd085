/**
 * The right of this tab to read sessions.
 *
 * The link that the server prints redirects to the page with a token in the fragment of the URL. The page keeps it in
 * `sessionStorage`, which belongs to this tab and to this origin, port included; a cookie would be sent to all ports.
 */
const TOKEN = 'annals-token';
const PLACE = 'annals-place';

/** Moves the token from the URL to the storage, and goes back to the place that was asked for before the token. */
export function takeToken(): void {
  const token = /^#token=([\w~.-]+)$/.exec(location.hash)?.[1];
  if (!token) return;
  sessionStorage.setItem(TOKEN, token);
  const place = sessionStorage.getItem(PLACE);
  sessionStorage.removeItem(PLACE);
  history.replaceState(history.state, '', place ?? location.pathname + location.search);
}

export function token(): string | null {
  return sessionStorage.getItem(TOKEN);
}

export function dropToken(): void {
  sessionStorage.removeItem(TOKEN);
}

/** Reads the token in a printed link, or a token alone. */
export function tokenIn(text: string): string | undefined {
  return /(?:^|[?&]token=)([\w~.-]{16,})(?:$|[&#\s])/.exec(text.trim())?.[1];
}

/** Signs in with a token of a printed link, and returns to this place. */
export function signIn(secret: string): void {
  const place = location.pathname + location.search + location.hash;
  sessionStorage.setItem(PLACE, place);
  location.assign(`/?token=${encodeURIComponent(secret)}`);
}
