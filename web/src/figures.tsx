/** Figures of an answer that has no form of its own on the page. */
import type { JSX } from 'preact';
import { visible } from './format.ts';
import { language } from './text.ts';

/** Any answer as nested tables: numbers, words, lists of objects. */
export function Figures({ value }: { value: unknown }): JSX.Element {
  if (Array.isArray(value)) return <ol class="figures">{value.slice(0, 200).map((entry, index) => <li key={index}><Figures value={entry} /></li>)}</ol>;
  if (value !== null && typeof value === 'object') {
    return <dl class="kv">{Object.entries(value).map(([name, entry]) => <div key={name}><dt>{visible(name)}</dt><dd><Figures value={entry} /></dd></div>)}</dl>;
  }
  return <>{typeof value === 'number' ? value.toLocaleString(language.value) : visible(String(value ?? '–'))}</>;
}
