/** What is shown over a conversation. The page loads this file when the first of them is opened. */
import type { JSX } from 'preact';
import type { Sheet } from '../route.ts';
import { BranchSheet } from './branch-sheet.tsx';
import { CompactionSheet } from './compaction-sheet.tsx';
import { ExportSheet } from './export-sheet.tsx';
import { FileSheet } from './file-sheet.tsx';
import type { Reader } from './reader.ts';

export function AnySheet({ reader, sheet, onClose }: { reader: Reader; sheet: Sheet; onClose(): void }): JSX.Element {
  switch (sheet.kind) {
    case 'compaction': return <CompactionSheet reader={reader} uuid={sheet.of} onClose={onClose} />;
    case 'branch': return <BranchSheet reader={reader} leaf={sheet.of} onClose={onClose} />;
    case 'export': return <ExportSheet reader={reader} of={sheet.of} onClose={onClose} />;
    case 'file': return <FileSheet reader={reader} path={sheet.of} onClose={onClose} />;
  }
}
