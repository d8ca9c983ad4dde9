import { statfsSync } from 'node:fs'

// Embedded databases are a thousand files each, and tests make and remove hundreds: in memory, where there is much of it, that is free.
const MEMORY = '/dev/shm'
const ROOM = 2 * 1024 ** 3
if (process.env.TMPDIR === undefined && hasRoom(MEMORY)) process.env.TMPDIR = MEMORY

/** @param {string} folder */
function hasRoom(folder) {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize > ROOM
  } catch {
    return false
  }
}

/** The test runner: ES modules loaded by Node, TypeScript compiled by swc, one embedded database per worker. */
export default {
  testEnvironment: '<rootDir>/scripts/jest/environment.mjs',
  runtime: '<rootDir>/scripts/jest/runtime.cjs',
  testSequencer: '<rootDir>/scripts/jest/sequencer.cjs',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/\\.snippetctl/'],
  // The runtime loads modules itself. The rest of this part is for the set-up, `--watch`, and tests of mutants, which use Jest's runtime.
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    '^(\\.{1,2}/.*)\\.js$': '$1',
    '^snippetctl$': '<rootDir>/src/index.ts',
    '^snippetctl/testing$': '<rootDir>/src/testing.ts',
  },
  transform: {
    '\\.ts$': [
      '@swc/jest',
      {
        jsc: { parser: { syntax: 'typescript' }, target: 'es2022' },
        module: { type: 'es6' },
        sourceMaps: 'inline',
      },
    ],
  },
  setupFiles: ['<rootDir>/test/support/fix-seed.ts'],
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  reporters: ['default', '<rootDir>/scripts/name-skipped.mjs'],
  // One more than the cores of CI: a quarter of the time, tests wait for processes, servers and timers.
  maxWorkers: 3,
  testTimeout: 240_000,
}
