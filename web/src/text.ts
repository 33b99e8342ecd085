/** The language of the page, and its texts. */
import { computed, effect, signal } from '@preact/signals';
import { visible } from './format.ts';
import { en, type Texts } from './text/en.ts';

/** Each language in its own words. */
export const LANGUAGES = { en: 'English', zh: '中文' } as const;
export type Language = keyof typeof LANGUAGES;

function preferred(): Language {
  const stored = localStorage.getItem('annals-language');
  return stored === 'zh' || stored === 'en' ? stored : navigator.language.startsWith('zh') ? 'zh' : 'en';
}

export const language = signal<Language>(preferred());
/** The texts that are loaded besides the English ones. */
const chinese = signal<Texts | undefined>(undefined);
export const texts = computed<Texts>(() => (language.value === 'zh' ? chinese.value ?? en : en));

/** Loads the texts of the language, unless they are here. */
export async function loadTexts(): Promise<void> {
  if (language.peek() === 'zh' && !chinese.peek()) chinese.value = (await import('./text/zh.ts')).zh;
}

effect(() => {
  document.documentElement.lang = language.value;
  localStorage.setItem('annals-language', language.value);
  // Without them, the page is in English.
  loadTexts().catch(() => undefined);
});

/** A word of the protocol, such as `tool_result`, in the language of the page. */
export function word(name: string): string {
  return texts.value.words[name] ?? visible(name.replaceAll('_', ' '));
}
