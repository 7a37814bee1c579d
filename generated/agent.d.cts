/** The same types, for programs that are CommonJS. */
export type * from './agent.js' with { 'resolution-mode': 'import' };
