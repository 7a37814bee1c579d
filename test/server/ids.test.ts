/** Names of tasks and registrations. */
import { expect, test } from 'vitest';
import { createIds } from '../../server/system/ids.ts';

test('the names of tasks are UUIDv7, never the same, and rise as they are made', () => {
  const { newRequestId } = createIds();
  const names = Array.from({ length: 2_000 }, newRequestId);
  for (const name of names)
    expect(name).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(new Set(names).size).toBe(names.length);
  expect(names.toSorted()).toEqual(names);
});

test('the names of registrations are never the same', () => {
  const { newRegistration } = createIds();
  const names = Array.from({ length: 1_000 }, newRegistration);
  expect(new Set(names).size).toBe(names.length);
});
