/** A test file that `npm test` leaves to `npm run test:ci`, or runs with smaller counts. */
export type CiSuite = {
  readonly file: string;
  readonly seconds: number;
  /** It measures one caller beside another, so nothing else may run meanwhile. */
  readonly alone?: true;
  /** Why it takes longer than a person waits before each push. */
  readonly reason: string;
  /** Where `npm test` tries a small part of the same property; empty where there is no cheap part. */
  readonly partIn: readonly string[];
  /** The counts of `npm test`, as the suite reads them from its environment. */
  readonly fewer?: Readonly<Record<string, string>>;
};
