import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'

const numbersIn = (text: string, pattern: RegExp): readonly string[] =>
  [...new Set([...text.matchAll(pattern)].map(([, number = '']) => number))].toSorted()

test('every promise of the page has tests named after its number, and no test is named after a missing one', () => {
  const promised = numbersIn(readFileSync('docs/promises.md', 'utf8'), /^\| (\d\d) \|/gm)
  const tests = readdirSync('test', { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.(?:test|browser)\.ts$/.test(name),
  )
  const text = tests.map((name) => readFileSync(`test/${name}`, 'utf8')).join('\n')
  expect(promised.length).toBe(24)
  expect(numbersIn(text, /\(promise (\d\d)\)'/g)).toEqual(promised)
})
