/** The faults of a world as a test adds them. `faults.ts` has them happen. */
import type { Given, Schemas } from './document.ts';

/** A fault to add, as the simulator's document has it. */
export type Fault = Given<Schemas['Fault']>;
/** The name of something that goes wrong. */
export type FaultName = Schemas['FaultName'];
/** The operations that a fault may be about: those of the gateway's document. */
export type FaultyOperation = Schemas['OperationName'];
/** An added fault, and how often it has happened. */
export type AddedFault = Given<Schemas['AddedFault']>;

export type Faults = {
  /** Throws a `TypeError` if it is not as the document says. */
  add(fault: Fault): AddedFault;
  list(): readonly AddedFault[];
  /** Removes one; false if there is none of this id. */
  remove(id: string): boolean;
  clear(): void;
};
