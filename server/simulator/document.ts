/** The types of the simulator's document, which `spec/simulator-service.tsp` describes. */
import type { components, operations } from '@task-gateway/contract/simulator';

export type Schemas = components['schemas'];
export type Operations = operations;

/** A readonly value of the document. Its optional fields may also be `undefined`. */
export type Given<T> = T extends readonly (infer Item)[]
  ? readonly Given<Item>[]
  : T extends object
    ? {
        readonly [Name in keyof T]: Record<never, never> extends Pick<T, Name>
          ? Given<T[Name]> | undefined
          : Given<T[Name]>;
      }
    : T;
