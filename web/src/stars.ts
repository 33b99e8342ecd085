/** Sessions with a star: kept in this browser only. */
import { signal } from '@preact/signals';
import { texts } from './text.ts';
import { say } from './toast.tsx';

const KEY = 'annals-stars';

function stored(): ReadonlySet<string> {
  try {
    const ids: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    return new Set(Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : []);
  } catch {
    return new Set();
  }
}

/** The ids of the sessions. */
export const stars = signal(stored());

// Another tab may have changed them.
addEventListener('storage', ({ key }) => { if (key === KEY) stars.value = stored(); });

export function toggleStar(id: string): void {
  const changed = new Set(stored());
  const isNew = !changed.delete(id);
  if (isNew) changed.add(id);
  localStorage.setItem(KEY, JSON.stringify([...changed]));
  stars.value = changed;
  say(isNew ? texts.value.starAdded : texts.value.starRemoved);
}
