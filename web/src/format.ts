/** Numbers, times and text in the form in which people read them. */
import type { UsageRow } from './wire.ts';

const COUNT = new Intl.NumberFormat('en', { maximumFractionDigits: 1, notation: 'compact' });

/** 950, 1.2K, 41K */
export function compact(count: number): string {
  return COUNT.format(count).toLowerCase().replace('b', 'bn');
}

export function whole(count: number, language: string): string {
  return count.toLocaleString(language);
}

/** 0.2s, 12s, 2m18s, 3h10m, 4d2h */
export function duration(ms: number): string {
  if (ms < 950) return `${(ms / 1000).toFixed(1)}s`;
  const seconds = Math.round(ms / 1000);
  const [days, hours, minutes] = [Math.floor(seconds / 86_400), Math.floor(seconds / 3600) % 24, Math.floor(seconds / 60) % 60];
  if (days > 0) return `${days}d${hours > 0 ? `${hours}h` : ''}`;
  if (hours > 0) return `${hours}h${minutes > 0 ? `${minutes}m` : ''}`;
  if (minutes > 0) return `${minutes}m${seconds % 60 > 0 ? `${seconds % 60}s` : ''}`;
  return `${seconds}s`;
}

/** 812 B, 4.1 kB, 63 MB */
export function bytes(count: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let [value, unit] = [count, 0];
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${value >= 10 || unit === 0 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/** Amounts that are too small for the digits are not shown as nothing. */
export function dollars(amount: number, digits = 2): string {
  const least = 10 ** -digits;
  return amount < least / 2 && amount > 0 ? `<$${least}` : `$${amount.toFixed(digits)}`;
}

/** A cost of usage. What is calculated from list prices is an estimate. */
export function costOf({ costUsd, costKind }: Pick<UsageRow, 'costUsd' | 'costKind'>, digits = 2): string {
  return costUsd === null ? '–' : `${costKind === 'recorded' ? '' : '≈ '}${dollars(costUsd, digits)}`;
}

/** How long ago something was, if that is short; otherwise the day, also of a time that is still to come. */
export function ago(time: string | null | undefined, now: number, language: string): string {
  if (!time) return '';
  const then = Date.parse(time);
  if (Number.isNaN(then)) return '';
  const minutes = Math.round((now - then) / 60_000);
  const relative = new Intl.RelativeTimeFormat(language, { numeric: 'auto', style: 'narrow' });
  const isPast = minutes >= 0;
  if (isPast && minutes < 60) return relative.format(-minutes, 'minute');
  if (isPast && minutes < 36 * 60) return relative.format(-Math.round(minutes / 60), 'hour');
  if (isPast && minutes < 7 * 24 * 60) return relative.format(-Math.round(minutes / 1440), 'day');
  const isThisYear = new Date(then).getFullYear() === new Date(now).getFullYear();
  return new Date(then).toLocaleDateString(language, isThisYear ? { day: 'numeric', month: 'short' } : { day: 'numeric', month: language === 'zh' ? 'numeric' : 'short', year: 'numeric' });
}

/** 14:02 */
export function clock(time: string, language: string): string {
  return new Date(time).toLocaleTimeString(language, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
}

export function fullTime(time: string, language: string): string {
  return new Date(time).toLocaleString(language, { dateStyle: 'full', timeStyle: 'long' });
}

/** A path without the folder that it is in, if that is the working directory. */
export function shortPath(path: string, folder: string | null | undefined): string {
  return folder && path.startsWith(folder) && /^[\\/]./.test(path.slice(folder.length)) ? path.slice(folder.length + 1) : path;
}

/** The last folder of a path, of any system. */
export function baseName(path: string): string {
  return path.replace(/[\\/]+$/, '').split(/[\\/]/).pop() || path;
}

/** A text of the protocol, which may not be UTF-8. */
export function textOf(text: string | { bytes: string } | null | undefined): string {
  return typeof text === 'string' ? text : text ? '�' : '';
}

/** The characters of `harmful.rs` of the server; joiners are needed between two characters beyond ASCII. */
const HARMFUL = new RegExp('[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufdd0-\\ufdef\\ufeff\\uffa0\\ufff0-\\ufffb\\ufffe\\uffff'
  + '\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e00ff}\\u{e01f0}-\\u{e0fff}]|(?<![^\\x00-\\x7f])[\\u200c\\u200d]|[\\u200c\\u200d](?![^\\x00-\\x7f])', 'gu');

/**
 * Makes characters visible that change the direction of text or that have no picture, which could make text look different from what it
 * is. Tabs and line breaks stay.
 */
export function visible(text: string): string {
  return text.replace(HARMFUL, (character) => {
    const code = character.codePointAt(0)!;
    return code < 32 ? String.fromCharCode(0x2400 + code) : code === 127 ? '␡' : `⟨${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
  });
}

/** A line of output without the sequences that colour it, also where they were made visible. */
export function withoutColours(text: string): string {
  return text.replace(/[\u001b\u241b]\[[\d;]*m/g, '');
}

/** The server checks addresses; this is the second look. */
export function isSafeLink(href: string): boolean {
  return /^(https?|mailto):/i.test(href);
}
