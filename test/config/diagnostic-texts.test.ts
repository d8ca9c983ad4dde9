import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, expect, test } from '@jest/globals'
import { type Diagnostic, loadApplication } from '../../src/internal.js'

// Configurations and their diagnostics. SNIPPETCTL_DOCS=write rewrites the expected texts; review the difference.
const FILE = resolve('test/fixtures/diagnostics.txt')
const BETWEEN = '\n========\n'
const ANSWER = '\n--------\n'

const folder = mkdtempSync(join(tmpdir(), 'snippetctl-'))
const file = join(folder, 'resources.yaml')
afterAll(() => rmSync(folder, { recursive: true }))

const cases = readFileSync(FILE, 'utf8')
  .trimEnd()
  .split(BETWEEN)
  .map((part) => part.split(ANSWER))
  .map(([yaml = '', said = '']) => ({ yaml, said }))

async function saidOf(yaml: string): Promise<string> {
  writeFileSync(file, `${yaml}\n`)
  const loaded = await loadApplication({ file, env: {} })
  const found = loaded.ok ? loaded.warnings() : loaded.diagnostics
  return found.map(toText).join('\n')
}

function toText({ severity, code, range: { start, end }, message, label, help }: Diagnostic): string {
  const place = `${start.line}:${start.column} to ${end.line}:${end.column}`
  const notes = [...(label === undefined ? [] : [`label: ${label}`]), ...help.map((line) => `help: ${line}`)]
  return [`${place} ${severity} ${code}: ${message}`, ...notes.map((line) => `  ${line}`)].join('\n')
}

if (process.env.SNIPPETCTL_DOCS === 'write') {
  const written: string[] = []
  for (const { yaml } of cases) written.push(`${yaml}${ANSWER}${await saidOf(yaml)}`)
  writeFileSync(FILE, `${written.join(BETWEEN)}\n`)
}

test.each(cases.map(({ yaml, said }) => [said.split('\n')[0] || 'nothing', yaml, said]))(
  '%s',
  async (_title, yaml, said) => {
    expect(await saidOf(yaml)).toBe(said)
  },
)
