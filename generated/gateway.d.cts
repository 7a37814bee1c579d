/** The same types, for programs that are CommonJS. */
export type * from './gateway.js' with { 'resolution-mode': 'import' };
