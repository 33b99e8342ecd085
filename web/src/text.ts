/** The language of the page, and its texts. */
import { computed, effect, signal } from '@preact/signals';
import { en, type Texts } from './text/en.ts';
import { zh } from './text/zh.ts';

export const LANGUAGES = { en, zh } as const;
export type Language = keyof typeof LANGUAGES;

function preferred(): Language {
  const stored = localStorage.getItem('annals-language');
  return stored === 'zh' || stored === 'en' ? stored : navigator.language.startsWith('zh') ? 'zh' : 'en';
}

export const language = signal<Language>(preferred());
export const texts = computed<Texts>(() => LANGUAGES[language.value]);

effect(() => {
  document.documentElement.lang = language.value;
  localStorage.setItem('annals-language', language.value);
});

/** A word of the protocol, such as `tool_result`, in the language of the page. */
export function word(name: string): string {
  return texts.value.words[name] ?? name.replaceAll('_', ' ');
}
