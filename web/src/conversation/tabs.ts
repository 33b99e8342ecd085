/** The tables of the inspector. */
export const TABS = ['calls', 'files', 'agents', 'context', 'usage'] as const;
export type Tab = (typeof TABS)[number];
