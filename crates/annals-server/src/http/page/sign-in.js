// Signs in with the printed link. The viewer then goes to the address that was opened; see `web/src/token.ts`.
'use strict';

document.querySelector('form').addEventListener('submit', (event) => {
  event.preventDefault();
  const text = document.querySelector('input').value.trim();
  const [, token] = /(?:^|[?&]token=)([\w~.-]{16,})(?:$|[&#\s])/.exec(text) ?? [];
  if (token) {
    sessionStorage.setItem('annals-place', location.pathname + location.search + location.hash);
    location.assign(`/?token=${encodeURIComponent(token)}`);
  } else {
    document.getElementById('wrong').textContent = 'That is not a link with a token. 这不是带令牌的链接。';
  }
});
