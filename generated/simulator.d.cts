/** The same types, for programs that are CommonJS. */
export type * from './simulator.js' with { 'resolution-mode': 'import' };
