/** The types with which a test adds faults to a world. `faults.ts` makes the faults happen. */
import type { Given, Schemas } from './document.ts';

/** A fault to add, as the simulator's document defines it. */
export type Fault = Given<Schemas['Fault']>;
export type FaultName = Schemas['FaultName'];
/** The operations that a fault can affect: those of the gateway's document. */
export type FaultyOperation = Schemas['OperationName'];
/** An added fault, and how often it has happened. */
export type AddedFault = Given<Schemas['AddedFault']>;

export type Faults = {
  /** Throws a `TypeError` if the document does not allow the fault. */
  add(fault: Fault): AddedFault;
  list(): readonly AddedFault[];
  /** Removes a fault; false if none has this id. */
  remove(id: string): boolean;
  clear(): void;
};
