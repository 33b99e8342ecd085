/** Nodes as plain text, for the clipboard. */
import type { ViewInline, ViewNode } from './wire.ts';

function inlineText(inlines: readonly ViewInline[]): string {
  return inlines.map((inline) => (typeof inline === 'string' ? inline : inline.t === 'br' ? '\n' : inlineText(inline.c))).join('');
}

export function textOfNodes(nodes: readonly ViewNode[]): string {
  return nodes.map(textOfNode).join('\n\n');
}

function textOfNode(node: ViewNode): string {
  switch (node.t) {
    case 'p': case 'note': return inlineText(node.c);
    case 'h': return `${'#'.repeat(node.level)} ${inlineText(node.c)}`;
    case 'hr': return '---';
    case 'list': return node.items.map((item, index) => `${node.start == null ? '-' : `${node.start + index}.`} ${textOfNodes(item)}`).join('\n');
    case 'quote': return textOfNodes(node.c).split('\n').map((line) => `> ${line}`).join('\n');
    case 'table': return [node.head, ...node.rows].map((row) => `| ${row.map(inlineText).join(' | ')} |`).join('\n');
    case 'code': case 'ansi': return node.lines.map((line) => line.map((span) => (typeof span === 'string' ? span : span[1])).join('')).join('\n');
    case 'diff': return node.hunks.map((hunk) => hunk.lines.map(({ k, s }) => k + s.map((span) => (typeof span === 'string' ? span : span[1])).join('')).join('\n')).join('\n');
    case 'json': case 'text': return node.text;
    case 'kv': return node.rows.map(([name, value]) => `${name}: ${inlineText(value)}`).join('\n');
    default: return '';
  }
}
