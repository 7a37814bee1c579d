/** Ids of tasks and registrations. */
import { expect, test } from 'vitest';
import { createIds } from '../../server/system/ids.ts';

const START_MS = 1_700_000_000_000;

test('task ids are UUIDv7, unique, and ascend in the order of creation', () => {
  const { newRequestId } = createIds();
  const created = Array.from({ length: 2_000 }, (_, n) => newRequestId(START_MS + Math.floor(n / 100)));
  for (const id of created)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(new Set(created).size).toBe(created.length);
  expect(created.toSorted()).toEqual(created);
});

test('registration ids are unique', () => {
  const { newRegistration } = createIds();
  const created = Array.from({ length: 1_000 }, newRegistration);
  expect(new Set(created).size).toBe(created.length);
});
