/** The banded distance is the plain one, as far as it is asked for. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { editDistance } from '../../server/domain/edit-distance.ts';

/** The Levenshtein distance as it is defined. */
function distancePlainly(left: string, right: string): number {
  if (left === '' || right === '') return left.length + right.length;
  const swap = distancePlainly(left.slice(1), right.slice(1)) + (left[0] === right[0] ? 0 : 1);
  return Math.min(swap, distancePlainly(left.slice(1), right) + 1, distancePlainly(left, right.slice(1)) + 1);
}

const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 6 });

test('it is exact up to the distance that is asked for, and infinite beyond', () => {
  fc.assert(
    fc.property(word, word, fc.integer({ min: 0, max: 4 }), (left, right, max) => {
      const plain = distancePlainly(left, right);
      expect(editDistance(left, right, max)).toBe(plain <= max ? plain : Number.POSITIVE_INFINITY);
    }),
    { numRuns: 500 },
  );
});
