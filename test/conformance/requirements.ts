/** The requirements, as `requirements.json` of the same version publishes them. */
import { readFileSync } from 'node:fs';

export type Requirement = {
  /** Stays the same as long as the sentence does. */
  readonly id: string;
  /** Whom it binds. */
  readonly role: 'gateway' | 'agent' | 'client';
  /** `L0`: the letter of the specification; `L1`: what the document decides; `L2`: extensions. */
  readonly level: 'L0' | 'L1' | 'L2';
  /** A `should` that does not hold is a warning. */
  readonly strength: 'must' | 'should';
  /** The sentence as it is published. */
  readonly text: string;
  /**
   * `specification`, `guide`, `operations` or `fields`; with the sections, anchors, operations or fields
   * where the sentence stands.
   */
  readonly document: string;
  readonly where: readonly string[];
  /** The requirement whose check covers this one too. */
  readonly checked_by?: string;
  /** Why no check covers it. */
  readonly not_scored?: string;
};

const FILE = new URL('../../generated/conformance/requirements.json', import.meta.url);

/** All requirements, in the order of their documents. */
export const REQUIREMENTS: readonly Requirement[] = JSON.parse(readFileSync(FILE, 'utf8'));
