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

/** The test runner: ES modules as they are written, TypeScript through swc, one database per worker. */
export default {
  testEnvironment: '<rootDir>/scripts/jest/environment.mjs',
  testSequencer: '<rootDir>/scripts/jest/sequencer.cjs',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/\\.snippetctl/'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    '^(\\.{1,2}/.*)\\.js$': '$1',
    '^snippetctl$': '<rootDir>/src/index.ts',
    '^snippetctl/testing$': '<rootDir>/src/testing.ts',
  },
  transform: {
    '/src/config/schema/shape-validator\\.ts$': '<rootDir>/scripts/jest/shape-transformer.mjs',
    '/src/explore/asset-texts\\.ts$': '<rootDir>/scripts/jest/asset-transformer.mjs',
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
  maxWorkers: 2,
  testTimeout: 240_000,
}
