/** The start of the page. */
import { render } from 'preact';
import { App } from './app.tsx';
import { startKeys } from './keys.ts';
import { call, isSignedIn, speak, status } from './rpc.ts';
import { startRouting } from './route.ts';
import { startSessions } from './session-list.ts';
import './style/base.css';
import './style/conversation.css';
import './style/places.css';
import { loadTexts, texts } from './text.ts';
import { takeToken, token } from './token.ts';

speak((code, message) => texts.peek().refusal(code, message));
takeToken();
startRouting();
startKeys();
isSignedIn.value = token() !== null;
if (isSignedIn.value) {
  // Everything but the methods that the server has can be shown before it answers.
  void call('history/status', {}).then((answer) => { status.value = answer; }, () => undefined);
  startSessions();
}
// Phones change the height of what is visible when their keyboard opens.
const fit = () => document.documentElement.style.setProperty('--height', `${visualViewport?.height ?? innerHeight}px`);
visualViewport?.addEventListener('resize', fit);
fit();
void loadTexts().catch(() => undefined).then(() => render(<App />, document.getElementById('app')!));
