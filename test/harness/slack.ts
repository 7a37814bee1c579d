/** What a test allows a machine that has other work as well. */

/**
 * Whether this is part of `npm run test:full`, which has the machine to itself: there bounds are asserted
 * bare.
 */
export const IS_FULL_RUN = process.env.TEST_FULL === 'true';

/** Added to each time that the gateway promises, so that no test fails because something else is running. */
export const MACHINE_SLACK_MS = IS_FULL_RUN ? 1_500 : 5_000;
