import { readFileSync } from 'node:fs'
import { describe, expect, test } from '@jest/globals'
import { CAMPAIGN } from '../../torture/campaign.js'

const page = readFileSync('SECURITY.md', 'utf8')
/** The cells of the table that begins with a heading. */
const rowsOf = (heading: string): readonly string[][] => {
  const lines = page.slice(page.indexOf(heading)).split('\n').slice(2)
  const end = lines.findIndex((line) => !line.startsWith('|'))
  return lines.slice(0, end < 0 ? undefined : end).map((line) => line.split('|').map((cell) => cell.trim()))
}
const promises = rowsOf('| Promise |').map(([, promise = '', holders = '']) => ({
  promise,
  holders: holders.split(', '),
}))

/** Parts of the names of the tests that hold a promise, by the file that SECURITY.md names. */
const PROOFS: Readonly<Record<string, readonly string[]>> = {
  'db/database-recovery': [
    'never repeats a write that was cut, and reports definite failures of the server',
    'freezes, ends the request',
  ],
  'http/server/requests-without-database': ['gets status %d without a query'],
  'db/driver/database-errors': ['never mentions tables, constraints or SQL'],
  'http/registrations/misbehaving-handlers': ['and the server continues'],
  'cli/serve/cli-serve-outage': ['responds with 503 until it is back, then applies the migrations and serves'],
  'cli/serve/cli-serve-drain': ['still accepts requests for the drain delay'],
  'cli/serve/cli-serve-workers': ['finishes the requests in progress in every worker before it stops'],
  'auth/bearer-tokens': ['a token that is not valid is 401', '6: nothing that a token names is fetched'],
  'auth/every-route': ['with a credential that is wrong is 401, although anybody may'],
  'auth/api-keys': [
    'is compared by its hash; the table and the log do not have it',
    'is 401, after ten seconds also where it was believed',
  ],
  'auth/proxy': ['the headers of a proxy from elsewhere are 401, also where anybody may ask'],
  'access/rows-and-fields': ['a hidden row is 404, as a missing one', 'a filter finds only rows that show its field'],
  'access/writes': ['a relation to a hidden record is 409', 'halves of two grants do not combine'],
  'access/other-routes': ['only who is named may request them', 'hide the row'],
  'http/server/http-protocol': ['are rejected in the format of their path'],
  'features/export': ['defuses texts that spreadsheets would evaluate'],
  'features/exports-under-way': ['cuts the response off if it fails', 'ends when the client leaves'],
  'http/server/json-bodies': ['is RFC 8259', 'agrees with JSON.parse about every value'],
  'fields/body-values': ['does not repeat a rejected value'],
  'config/config-diagnostics': ['reports all of them at once, each with its line and column'],
  'config/config-mutations': ['are accepted, or rejected with positions inside the file'],
  'migrations/consent/drops-need-consent': ['is rejected before anything is applied'],
  'migrations/serve-destroys-nothing': [
    'does not start, names the losses, and applies nothing, not even the safe part',
  ],
  'cli/package': [
    'lets no package run a script at installation',
    'keeps every npm from running scripts',
    'known advisories',
  ],
}

/** Whether a file has a test of such a name, as a call that is made: not in a comment, and not skipped. */
function hasTest(source: string, name: string): boolean {
  return source.split('\n').some((line, at, lines) => {
    if (!line.includes(name) || /^\s*(\/\/|\*)/.test(line)) return false
    const call = lines.slice(Math.max(0, at - 1), at + 1).join(' ')
    return !/\.(skip|todo)\b/.test(call) && /[\])\w]\(\s*['`"]/.test(call)
  })
}

describe('the promises of SECURITY.md', () => {
  test('exist', () => expect(promises.length).toBeGreaterThan(10))

  test.each(promises)('$promise: has tests of these names, and trials that run', ({ holders }) => {
    for (const holder of holders) {
      const [, file] = /^`test\/([\w/-]+)`$/.exec(holder) ?? []
      if (file === undefined) {
        const trial = CAMPAIGN.find(({ id }) => id === holder)
        // What a tier leaves out is said as a sentence; amounts are names with numbers.
        expect(trial?.amount('nightly')).toMatch(/^\w+ (\d+|true)/)
      } else {
        const source = readFileSync(`test/${file}.test.ts`, 'utf8')
        const proofs = PROOFS[file] ?? []
        expect(proofs).not.toEqual([])
        expect(proofs.filter((name) => !hasTest(source, name))).toEqual([])
      }
    }
  })

  test('have no tests that the page does not name', () => {
    const named = new Set(promises.flatMap(({ holders }) => holders))
    expect(Object.keys(PROOFS).filter((file) => !named.has(`\`test/${file}\``))).toEqual([])
  })
})

describe('the attacks of SECURITY.md', () => {
  const attacks = rowsOf('| | Attack |').flatMap(([, numbers = '', , , files = '']) =>
    numbers.split(', ').flatMap((each) => {
      const [first = 0, last = first] = each.split('–').map(Number)
      return Array.from({ length: last - first + 1 }, (_, at) => ({ number: first + at, files: files.split(', ') }))
    }),
  )

  test('are 53', () => {
    expect(attacks.map(({ number }) => number)).toEqual(Array.from({ length: 53 }, (_, at) => at + 1))
  })

  test.each(attacks)('$number has a test of this number', ({ number, files }) => {
    const found = files.filter((file) => {
      const source = readFileSync(`${file.replaceAll('`', '')}.test.ts`, 'utf8')
      return new RegExp(`['"\`](?:\\d+ and )*${number}(?: and \\d+)*(?::|',)`, 'm').test(source)
    })
    expect([number, found]).not.toEqual([number, []])
  })
})
