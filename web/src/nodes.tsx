/** Content as elements. Nodes are typed values of the server; no text of a transcript is ever parsed as markup. */
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { numbered, sideBySide, type NumberedLine } from './diff-lines.ts';
import { bytes, isSafeLink, visible } from './format.ts';
import { diffs } from './settings.ts';
import { texts } from './text.ts';
import type { PartResult, ViewHunk, ViewInline, ViewNode, ViewSpan } from './wire.ts';

/** Fetches what was left out of a row. */
export type FetchPart = (part: number, from?: number, count?: number) => Promise<PartResult>;

/** How many lines are fetched at once where something was left out. */
const LINES_AT_ONCE = 1_000;

export function Nodes({ nodes, part }: { nodes: readonly ViewNode[]; part: FetchPart }): JSX.Element {
  return <>{nodes.map((node, index) => (node.t === 'more' ? <More key={index} node={node} part={part} isBefore={index < nodes.length - 1} /> : <NodeView key={index} node={node} part={part} />))}</>;
}

function NodeView({ node, part }: { node: ViewNode; part: FetchPart }): JSX.Element | null {
  switch (node.t) {
    case 'p': return <p dir="auto"><Inlines inlines={node.c} /></p>;
    case 'h': return <Heading level={node.level}><Inlines inlines={node.c} /></Heading>;
    case 'hr': return <hr />;
    case 'list': return <ListView node={node} part={part} />;
    case 'quote': return <blockquote><Nodes nodes={node.c} part={part} /></blockquote>;
    case 'table': return <TableView node={node} />;
    case 'code': return <Lines lines={node.lines} first={node.first ?? undefined} kind="code" label={node.lang ?? undefined} />;
    case 'ansi': return <Lines lines={node.lines} kind="ansi" />;
    case 'diff': return <DiffView node={node} />;
    case 'json': return <pre class="block json" tabIndex={0}>{visible(node.text)}</pre>;
    case 'text': return <pre class="block text" dir="auto" tabIndex={0}>{visible(node.text)}</pre>;
    case 'kv': return <dl class="kv">{node.rows.map(([name, value], index) => <div key={index}><dt>{visible(name)}</dt><dd dir="auto"><Inlines inlines={value} /></dd></div>)}</dl>;
    case 'image': return <ImageView node={node} part={part} />;
    case 'note': return <p class="note" data-kind={node.kind}>{texts.value.nodeNotes[node.kind] ?? <Inlines inlines={node.c} />}</p>;
    // A newer server may send what this page does not know: it is shown as it is.
    default: return <pre class="block json" tabIndex={0}>{visible(JSON.stringify(node, null, 2))}</pre>;
  }
}

function Heading({ level, children }: { level: number; children: ComponentChildren }): JSX.Element {
  // Headings of a transcript are no headings of the page, whose outline they would break.
  return <p class={`heading h${Math.min(6, Math.max(1, level))}`} dir="auto">{children}</p>;
}

export function Inlines({ inlines }: { inlines: readonly ViewInline[] }): JSX.Element {
  return <>{inlines.map((inline, index) => <InlineView key={index} inline={inline} />)}</>;
}

function InlineView({ inline }: { inline: ViewInline }): JSX.Element | null {
  if (typeof inline === 'string') return <>{visible(inline)}</>;
  switch (inline.t) {
    case 'br': return <br />;
    case 'strong': return <strong><Inlines inlines={inline.c} /></strong>;
    case 'em': return <em><Inlines inlines={inline.c} /></em>;
    case 'del': return <del><Inlines inlines={inline.c} /></del>;
    case 'code': return <code><Inlines inlines={inline.c} /></code>;
    case 'link': return isSafeLink(inline.href)
      ? <a href={inline.href} target="_blank" rel="noopener noreferrer" title={visible(inline.href)}><Inlines inlines={inline.c} /></a>
      : <Inlines inlines={inline.c} />;
    default: return null;
  }
}

function ListView({ node, part }: { node: Extract<ViewNode, { t: 'list' }>; part: FetchPart }): JSX.Element {
  const items = node.items.map((item, index) => {
    const done = node.done?.[index];
    return <li key={index} class={done === null || done === undefined ? undefined : 'task'}>
      {done === true ? <span class="check" role="img" aria-label={texts.value.yes}>☑ </span> : done === false ? <span class="check" role="img" aria-label={texts.value.no}>☐ </span> : null}
      <Nodes nodes={item} part={part} />
    </li>;
  });
  return node.start === undefined || node.start === null ? <ul>{items}</ul> : <ol start={node.start}>{items}</ol>;
}

function TableView({ node }: { node: Extract<ViewNode, { t: 'table' }> }): JSX.Element {
  const side = (column: number) => ({ l: 'left', c: 'center', r: 'right', '': undefined })[node.align[column] ?? ''];
  return <div class="table" tabIndex={0} role="group"><table>
    <thead><tr>{node.head.map((cell, column) => <th key={column} class={side(column)}><Inlines inlines={cell} /></th>)}</tr></thead>
    <tbody>{node.rows.map((row, index) => <tr key={index}>{row.map((cell, column) => <td key={column} class={side(column)} dir="auto"><Inlines inlines={cell} /></td>)}</tr>)}</tbody>
  </table></div>;
}

/** Classes that a span may have; anything else is plain text. */
const SPAN = /^[a-z]{1,4}\d{0,2}$/;

function Spans({ spans }: { spans: readonly ViewSpan[] }): JSX.Element {
  return <>{spans.map((span, index) => {
    if (typeof span === 'string') return visible(span);
    const classes = span[0].split(' ').filter((name) => SPAN.test(name)).map((name) => `s-${name}`).join(' ');
    return <span key={index} class={classes}>{visible(span[1])}</span>;
  })}</>;
}

function Lines({ lines, first, kind, label }: { lines: readonly ViewSpan[][]; first?: number; kind: string; label?: string }): JSX.Element {
  if (first === undefined) {
    return <pre class={`block ${kind}`} tabIndex={0} data-label={label}>{lines.map((line, index) => <span key={index}><Spans spans={line} />{'\n'}</span>)}</pre>;
  }
  return <pre class={`block ${kind} numbered`} tabIndex={0} data-label={label}>{lines.map((line, index) => (
    <span class="line" key={index} data-number={first + index}><Spans spans={line} />{'\n'}</span>
  ))}</pre>;
}

function DiffView({ node }: { node: Extract<ViewNode, { t: 'diff' }> }): JSX.Element {
  const isSplit = diffs.value === 'split';
  return <div class={`block diff ${isSplit ? 'split' : ''}`} tabIndex={0} role="group" aria-label={node.path ?? 'diff'}>
    <div class="diff-head">
      <span class="path" dir="ltr">{visible(node.path ?? '')}</span> <span class="s-add">+{node.added}</span> <span class="s-del">−{node.removed}</span>
      <button type="button" class="quiet" onClick={() => { diffs.value = isSplit ? 'unified' : 'split'; }}>{isSplit ? texts.value.unified : texts.value.split}</button>
    </div>
    {node.hunks.map((hunk, index) => isSplit ? <SplitHunk key={index} hunk={hunk} /> : <UnifiedHunk key={index} hunk={hunk} />)}
  </div>;
}

const CHANGES = { ' ': 'same', '+': 'added', '-': 'removed' } as const;

function UnifiedHunk({ hunk }: { hunk: ViewHunk }): JSX.Element {
  return <pre class="hunk">{numbered(hunk).map((line, index) => (
    <span key={index} class={`line ${CHANGES[line.k]}`} data-old={line.old ?? ''} data-new={line.new ?? ''} data-sign={line.k}><Spans spans={line.s} />{'\n'}</span>
  ))}</pre>;
}

function SplitHunk({ hunk }: { hunk: ViewHunk }): JSX.Element {
  const side = (line: NumberedLine | undefined, number: number | undefined) => line
    ? <span class={`line ${CHANGES[line.k]}`} data-old={number ?? ''} data-sign={line.k}><Spans spans={line.s} /></span>
    : <span class="line none" data-old="" data-sign=" " />;
  return <div class="hunk pairs">{sideBySide(numbered(hunk)).map(([before, after], index) => (
    <div class="pair" key={index}>{side(before, before?.old)}{side(after, after?.new)}</div>
  ))}</div>;
}

/** Media types that are shown: a picture that could run a script is not one of them. */
const PICTURES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);

function ImageView({ node, part }: { node: Extract<ViewNode, { t: 'image' }>; part: FetchPart }): JSX.Element {
  const [address, setAddress] = useState<string>();
  const [failure, setFailure] = useState<string>();
  const t = texts.value;
  useEffect(() => {
    let url: string | undefined;
    let isGone = false;
    if (PICTURES.has(node.media)) {
      part(node.part).then(({ data, media }) => {
        if (isGone || !data || !PICTURES.has(media ?? '')) return;
        url = URL.createObjectURL(new Blob([Uint8Array.from(atob(data), (character) => character.charCodeAt(0))], { type: media! }));
        setAddress(url);
      }, (error: Error) => setFailure(error.message));
    }
    return () => {
      isGone = true;
      if (url) URL.revokeObjectURL(url);
    };
  }, []);
  const label = t.image(node.media, bytes(node.bytes));
  const ratio = node.width && node.height ? { aspectRatio: `${node.width} / ${node.height}`, width: `${node.width}px` } : undefined;
  return <figure class="image">
    {address ? <img src={address} alt={label} style={ratio} decoding="async" /> : <span class="picture" style={ratio}>{failure ?? label}</span>}
  </figure>;
}

/** Fetches lines of a part, as many requests as it takes: an answer has fewer lines than were asked for if they are long. */
async function fetchLines(part: FetchPart, number: number, from: number, to: number): Promise<ViewNode[]> {
  const nodes: ViewNode[] = [];
  for (let next: number | null | undefined = from; next != null && next < to;) {
    const answer: PartResult = await part(number, next, to - next);
    nodes.push(...(answer.nodes ?? []));
    next = answer.next;
  }
  return nodes;
}

/** What was left out. If something follows it, such as the end of an output, it can be shown from both of its ends. */
function More({ node, part, isBefore }: { node: Extract<ViewNode, { t: 'more' }>; part: FetchPart; isBefore: boolean }): JSX.Element {
  const end = node.from + node.lines;
  const [shown, setShown] = useState<{ head: ViewNode[]; next: number; tail: ViewNode[]; last: number }>({ head: [], next: node.from, tail: [], last: end });
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string>();
  const t = texts.value;
  const { head, next, tail, last } = shown;
  const load = async (isFromEnd: boolean) => {
    setBusy(true);
    setFailure(undefined);
    try {
      if (isFromEnd) {
        const from = Math.max(next, last - LINES_AT_ONCE);
        setShown({ ...shown, tail: [...await fetchLines(part, node.part, from, last), ...tail], last: from });
      } else {
        const answer = await part(node.part, next, Math.min(LINES_AT_ONCE, last - next));
        setShown({ ...shown, head: [...head, ...(answer.nodes ?? [])], next: Math.min(answer.next ?? last, last) });
      }
    } catch (error) {
      setFailure((error as Error).message);
    }
    setBusy(false);
  };
  const size = head.length + tail.length === 0 ? bytes(node.bytes) : '';
  return <>
    <Nodes nodes={head} part={part} />
    {failure && <p class="trouble">{failure}</p>}
    {next < last && <p class="more-line">
      <button type="button" class="more" disabled={isBusy} onClick={() => void load(false)}>{isBefore && last - next > LINES_AT_ONCE ? t.showFromStart : t.showAll(last - next, size)}</button>
      {isBefore && last - next > LINES_AT_ONCE && <button type="button" class="more" disabled={isBusy} onClick={() => void load(true)}>{t.showAbove(LINES_AT_ONCE, last - next, size)}</button>}
    </p>}
    <Nodes nodes={tail} part={part} />
  </>;
}
