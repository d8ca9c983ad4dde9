/** Takes the place of `@jest/globals`; evaluated once for each test file. */
export const { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest, test } =
  globalThis[Symbol.for('snippetctl.jest')]
