import { readFileSync } from 'node:fs'
import { describe, expect, test } from '@jest/globals'
import { publicNames } from '../../docs/generate/plugin-api.js'
import { compileFiles } from '../support/compiler.js'
import { blocksOf } from '../support/pages.js'

const MAX_NAMES = 40

const names = publicNames()
const examples = blocksOf(readFileSync('docs/plugin-api.md', 'utf8')).map(({ text }) => text)

describe('the plugin API', () => {
  test(`has at most ${MAX_NAMES} names`, () => {
    expect(names.length).toBeGreaterThan(20)
    expect(names.length).toBeLessThanOrEqual(MAX_NAMES)
    expect(new Set(names.map(({ name }) => name)).size).toBe(names.length)
  })

  test.each(names)('documents $name with a sentence and an example', ({ name, about, example }) => {
    expect(about).toMatch(/^[A-Z].*\.$/)
    expect(example).toContain(name)
  })

  test('shows one example for each name, and all of them compile', async () => {
    expect(examples.length).toBe(names.length)
    const files = examples.map((text, index) => [`${names[index]?.name}.ts`, text] as const)
    expect(await compileFiles(Object.fromEntries(files))).toEqual([])
  })

  test('is all that a program can import from the package', () => {
    const { exports } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      exports: Readonly<Record<string, unknown>>
    }
    expect(Object.keys(exports)).toEqual(['.', './testing', './package.json', './resources.schema.json'])
  })

  test('runs on the framework instance of the command', async () => {
    const [face, inner] = await Promise.all([import('../../src/index.js'), import('../../src/internal.js')])
    expect(Object.keys(face).sort()).toEqual(['JsonText', 'Problem', 'callerOf'])
    expect(face.Problem).toBe(inner.Problem)
  })
})
