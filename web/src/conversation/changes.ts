/** Which files calls changed, and by how many lines. */
import type { ViewRow } from '../wire.ts';

export interface FileChange { file: string; added: number; removed: number }

/** The files that the calls among these rows changed. A call that failed, or that has no result, changed nothing. */
export function changesOf(rows: Iterable<Pick<ViewRow, 'tool'>>): FileChange[] {
  const files = new Map<string, FileChange>();
  for (const { tool } of rows) {
    if (!tool?.file || tool.state !== 'ok' || (tool.added == null && tool.removed == null)) continue;
    const known = files.get(tool.file) ?? { file: tool.file, added: 0, removed: 0 };
    files.set(tool.file, { ...known, added: known.added + (tool.added ?? 0), removed: known.removed + (tool.removed ?? 0) });
  }
  return [...files.values()];
}
