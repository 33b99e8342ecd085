/** The frame of the page: the bar at the top, and the place of the address below it. */
import { signal, useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { Conversation } from './conversation/page.tsx';
import { register } from './keys.ts';
import { Palette, isPaletteOpen } from './palette.tsx';
import { isSignedIn, status } from './rpc.ts';
import { go, route, type Route } from './route.ts';
import { isConnected } from './session-list.ts';
import { Sessions } from './sessions.tsx';
import { DENSITIES, THEMES, density, nextOf, theme } from './settings.ts';
import { LANGUAGES, language, texts, type Language } from './text.ts';
import { Toasts, complain } from './toast.tsx';
import { signIn, tokenIn } from './token.ts';

const isHelpOpen = signal(false);

const PLACES = [['sessions', '/'], ['search', '/search'], ['usage', '/usage'], ['health', '/health']] as const;

export function App(): JSX.Element {
  const t = texts.value;
  useEffect(() => register({
    palette: () => { isPaletteOpen.value = true; }, help: () => { isHelpOpen.value = true; },
    sessions: () => go({ place: 'sessions', query: {} }), search: () => go({ place: 'search', query: {} }), usage: () => go({ place: 'usage', query: {} }), health: () => go({ place: 'health', query: {} }),
    theme: () => { theme.value = nextOf(THEMES, theme.peek()); },
  }), []);
  if (!isSignedIn.value) return <SignIn />;
  return <>
    <a class="skip" href="#content" onClick={(event) => { event.preventDefault(); document.querySelector<HTMLElement>('#content .screen, #content input')?.focus(); }}>{t.skip}</a>
    <header class="bar">
      <span class="brand">annals</span>
      <nav aria-label="annals">{PLACES.map(([place, address]) => <a key={place} href={address} aria-current={route.value.place === place ? 'page' : undefined}>{t[place]}</a>)}</nav>
      <button type="button" class="find-anything" onClick={() => { isPaletteOpen.value = true; }}><span>{t.palette}</span> <kbd>Ctrl K</kbd></button>
      <Settings />
    </header>
    <Place at={route.value} />
    <footer class="foot"><span>{t.privacy}</span>{status.value?.readOnly && <span>{t.readOnly}</span>}<span class={isConnected.value ? 'live' : 'offline'} role="status">{isConnected.value ? `● ${t.live}` : `○ ${t.offline}`}</span></footer>
    <Palette /><Help /><Toasts />
  </>;
}

function Place({ at }: { at: Route }): JSX.Element {
  switch (at.place) {
    case 'conversation': return <Conversation at={at} />;
    case 'search': case 'usage': case 'health': return <Later at={at} />;
    case 'sessions': return <Sessions at={at} />;
  }
}

/** A place that is loaded when it is gone to. */
function Later({ at }: { at: Extract<Route, { place: 'search' | 'usage' | 'health' }> }): JSX.Element {
  const places = useSignal<typeof import('./figures.tsx') | undefined>(undefined);
  useEffect(() => { import('./figures.tsx').then((module) => { places.value = module; }, complain); }, []);
  if (!places.value) return <main id="content" aria-busy="true"><p class="empty">{texts.value.loading}</p></main>;
  const { Health, Search, Usage } = places.value;
  return at.place === 'search' ? <Search at={at} /> : at.place === 'usage' ? <Usage at={at} /> : <Health />;
}

function Help(): JSX.Element | null {
  const help = useSignal<typeof import('./help.tsx') | undefined>(undefined);
  useEffect(() => { if (isHelpOpen.value) import('./help.tsx').then((module) => { help.value = module; }, complain); }, [isHelpOpen.value]);
  const Dialog = help.value?.HelpDialog;
  return isHelpOpen.value && Dialog ? <Dialog onClose={() => { isHelpOpen.value = false; }} /> : null;
}

function Settings(): JSX.Element {
  const t = texts.value;
  return <div class="settings">
    <select aria-label={t.theme} title={t.theme} value={theme.value} onChange={(event) => { theme.value = event.currentTarget.value as typeof theme.value; }}>{THEMES.map((name) => <option key={name} value={name}>{t.themes[name]}</option>)}</select>
    <select aria-label={t.density} title={t.density} value={density.value} onChange={(event) => { density.value = event.currentTarget.value as typeof density.value; }}>{DENSITIES.map((name) => <option key={name} value={name}>{t.densities[name]}</option>)}</select>
    <select aria-label={t.language} title={t.language} value={language.value} onChange={(event) => { language.value = event.currentTarget.value as Language; }}>{(Object.keys(LANGUAGES) as Language[]).map((name) => <option key={name} value={name}>{LANGUAGES[name]}</option>)}</select>
    <button type="button" class="quiet" aria-label={t.help} title={`${t.help} (?)`} onClick={() => { isHelpOpen.value = true; }}>?</button>
  </div>;
}

/** Asks for the printed link; then the server redirects back, with a token. */
function SignIn(): JSX.Element {
  const t = texts.value;
  const isWrong = useSignal(false);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const secret = tokenIn(new FormData(event.currentTarget as HTMLFormElement).get('link') as string);
    if (secret) signIn(secret);
    else isWrong.value = true;
  };
  return <main class="sign-in" id="content">
    <h1>{t.signInTitle}</h1><p>{t.signInHint}</p>
    <form onSubmit={submit}><input name="link" aria-label={t.signInField} placeholder="http://127.0.0.1:…/?token=…" autocomplete="off" autofocus /><button type="submit" class="primary">{t.signInButton}</button></form>
    {isWrong.value && <p class="trouble" role="alert">{t.signInWrong}</p>}
    <p class="quiet">{t.privacy}</p>
  </main>;
}
