/** The places that most visits do not open: they are loaded when they are. */
export { Health } from './health.tsx';
export { Usage } from './usage.tsx';
export { Search } from './search.tsx';
