import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { writeLlms, writeSections } from '../../docs/generate/index.js'

const PAGES = [
  ...readdirSync('.').filter((name) => name.endsWith('.md')),
  ...readdirSync('docs')
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]

const read = (file: string): string => readFileSync(file, 'utf8')

/** What GitHub makes of the headings of a page. */
const anchorsIn = (page: string): readonly string[] =>
  [...page.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  )

describe('the documentation', () => {
  test.each(PAGES)('%s matches the program where it is generated (npm run docs)', (page) => {
    expect(read(page)).toBe(writeSections(read(page)))
  })

  test('is in one file for programs, identical to its pages (npm run docs)', () => {
    const whole = read('llms.txt')
    expect(whole).toBe(writeLlms(read))
    const links = [...whole.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].map(([, file = '']) => file)
    expect(links.filter((file) => !existsSync(file))).toEqual([])
  })

  test.each(PAGES)('%s has no broken link', (page) => {
    const links = [...read(page).matchAll(/\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)/g)]
    const dead = links.filter(([, file = '', anchor = '']) => {
      const target = file === '' ? page : join(dirname(page), file)
      return !existsSync(target) || (anchor !== '' && !anchorsIn(read(target)).includes(anchor))
    })
    expect(dead.map(([link]) => link)).toEqual([])
  })

  test('has a short README, whose first result is on the first screen', () => {
    const readme = read('README.md')
    const words = readme.split(/\s+/).filter((word) => word !== '').length
    expect(words).toBeGreaterThanOrEqual(350)
    expect(words).toBeLessThanOrEqual(450)
    const lines = readme.split('\n')
    expect(lines.findIndex((line) => line.startsWith('{"id":1,'))).toBeLessThan(40)
    expect(lines).toContain('`npm ci && npm start` serves the snippet service on the embedded database.')
    expect(lines).toContain('`npm ci && npm test` passes.')
  })

  test('names every variable that the program and its tests read', () => {
    const files = ['src', 'cli', 'test'].flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .map((name) => read(join(folder, name))),
    )
    const reads = /(?:\benv(?:\.|\[')|\.env\(')([A-Z][A-Z_]+)\b/g
    const found = new Set(files.flatMap((text) => [...text.matchAll(reads)].map(([, name = '']) => name)))
    // Set by the tests themselves, or by the system.
    const inner = ['SNIPPETCTL_TEST_URL', 'SNIPPETCTL_TEST_DUMP', 'LEFT_BY_TEST', 'FOLDER', 'URL', 'PATH', 'HOME']
    const page = read('docs/environment.md')
    expect([...found].filter((name) => !inner.includes(name) && !page.includes(`\`${name}\``))).toEqual([])
  })

  test('names every setting of a PostgreSQL session', () => {
    const settings = [...read('src/db/pool/postgres.ts').matchAll(/^ {2}set (\w+) = '?([^';]+)'?;$/gm)]
    expect(settings.length).toBeGreaterThan(5)
    const page = read('docs/databases.md')
    expect(settings.filter(([, name, value]) => !page.includes(`| \`${name}\` | \`${value}\` |`))).toEqual([])
  })
})
