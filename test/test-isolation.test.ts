import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from '@jest/globals'
import { linksOf } from './support/links.js'

const { rememberGlobals } = (await import(pathToFileURL(resolve('scripts/jest/worker-globals.mjs')).href)) as {
  rememberGlobals: () => () => void
}

describe('a test file', () => {
  test('has its own helpers, whose state and hooks belong to it', async () => {
    const other = new URL('./support/links.ts?file=other', import.meta.url).href
    const helper = (await import(other)) as { linksOf: unknown }
    expect(String(helper.linksOf)).toBe(String(linksOf))
    expect(helper.linksOf).not.toBe(linksOf)
  })

  test('leaves no globals, listeners, environment or folder to later files', () => {
    const globals = () => [process.cwd(), process.listenerCount('SIGTERM'), process.exit, globalThis.console]
    const before = globals()
    const restore = rememberGlobals()
    Object.assign(globalThis, { leftByTest: 1, console: {} })
    Object.assign(process, { exit: () => {} })
    process.env['LEFT_BY_TEST'] = '1'
    process.on('SIGTERM', () => {})
    process.chdir('/')
    restore()
    expect(globals()).toEqual(before)
    expect(globalThis).not.toHaveProperty('leftByTest')
    expect(process.env).not.toHaveProperty('LEFT_BY_TEST')
  })

  test('has the lines of its TypeScript in stacks', () => {
    interface Erased {
      readonly lines: number
    }
    const { stack } = new Error('here') as Error & Erased
    expect(stack).toContain('test/test-isolation.test.ts:37:23')
  })
})
