/** Small pictures, drawn for this page: 16 by 16, one stroke. */
import type { JSX } from 'preact';
import type { ToolState } from './wire.ts';

const PATHS = {
  terminal: 'M2 3h12v10H2zM4.5 6l2 2-2 2M8.5 10h3',
  edit: 'M3 13l1-3 7-7 2 2-7 7zM10 4l2 2',
  file: 'M4 2h5l3 3v9H4zM9 2v3h3',
  search: 'M7 3a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM10 10l3.5 3.5',
  agent: 'M8 2v2M4 5h8v7H4zM6.5 8v1M9.5 8v1M2.5 8v2M13.5 8v2',
  list: 'M3 4l1 1 1.5-2M7.5 4.5h6M3 9l1 1 1.5-2M7.5 9.5h6M7.5 13h6',
  web: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM2 8h12M8 2c-4 4-4 8 0 12M8 2c4 4 4 8 0 12',
  plug: 'M6 2v4M10 2v4M4 6h8v2a4 4 0 0 1-8 0zM8 12v2',
  question: 'M5.5 6a2.5 2.5 0 1 1 3.6 2.2c-.8.4-1.1.9-1.1 1.8M8 12.5v.5',
  thinking: 'M4.5 10.5a3.5 3.5 0 0 1 0-6 4 4 0 0 1 7 0 3.5 3.5 0 0 1 0 6zM5 13h1M8.5 14h.5',
  note: 'M3 4h10M3 8h10M3 12h6',
  branch: 'M4 3v10M4 9c5 0 7-1 7-4M11 5a1 1 0 1 0 0-2 1 1 0 0 0 0 2z',
  copy: 'M6 6h7v7H6zM10 6V3H3v7h3',
  warning: 'M8 2l6 11H2zM8 6v4M8 11.5v.5',
  tool: 'M10 3a3 3 0 0 0-3 4l-5 5 2 2 5-5a3 3 0 0 0 4-4l-2 2-2-2z',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }): JSX.Element {
  return <svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d={PATHS[name]} /></svg>;
}

const TOOLS: Record<string, IconName> = {
  Bash: 'terminal', BashOutput: 'terminal', KillShell: 'terminal', Edit: 'edit', MultiEdit: 'edit', NotebookEdit: 'edit', Write: 'edit', Read: 'file', NotebookRead: 'file',
  Grep: 'search', Glob: 'search', LS: 'search', ToolSearch: 'search', Task: 'agent', Agent: 'agent', TodoWrite: 'list', TaskCreate: 'list', TaskUpdate: 'list', TaskList: 'list',
  WebSearch: 'web', WebFetch: 'web', AskUserQuestion: 'question', ExitPlanMode: 'question', EnterPlanMode: 'question', Skill: 'note', SlashCommand: 'note',
};

export function toolIcon(name: string): IconName {
  return TOOLS[name] ?? (name.includes('›') || name.startsWith('mcp__') ? 'plug' : 'tool');
}

/** Shapes of states: never colour alone, and none that only fonts with emoji have. A call that went well needs no sign. */
export const STATE_ICONS: Record<ToolState, string> = { ok: '', error: '✖', pending: '◌', interrupted: '‖', denied: '⊘', cancelled: '⊖' };
