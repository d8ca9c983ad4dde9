import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Api, startApi } from '../support/api.js'
import { makeProject, type Project } from '../support/cli.js'
import { blocksOf } from '../support/pages.js'

const blocks = blocksOf(readFileSync('docs/plugins.md', 'utf8'))

/** The example of the section on queries. */
const FILE = 'plugins/reports.ts'

describe('the queries of the plugin guide', () => {
  let project: Project
  let api: Api
  beforeAll(async () => {
    const yaml = blocks.find(({ language }) => language === 'yaml')?.text ?? ''
    const plugins = blocks.filter(({ file }) => file?.startsWith('plugins/'))
    expect(plugins.map(({ file }) => file)).toContain(FILE)
    project = await makeProject({
      'resources.yaml': yaml.replace('plugins:\n', `plugins:\n  - ./${FILE}\n`),
      ...Object.fromEntries(plugins.map(({ file, text }) => [file ?? '', text])),
    })
    api = await startApi(join(project.folder, 'resources.yaml'))
    for (const [title, lent] of [
      ['Dune', true],
      ['Emma', true],
      ['Ulysses', false],
    ] as const) {
      await api.send('POST', '/api/books/', { title, lent })
    }
    const text = "insert into loans (book_id, reader) values (1, 'Ann'), (2, 'Ann')"
    await api.database.query({ text, values: [] })
  })
  afterAll(async () => {
    await api.close()
    await project.remove()
  })

  const bodyOf = async (response: Promise<Response>): Promise<unknown> => {
    const { status, text } = await response.then(async (each) => ({ status: each.status, text: await each.text() }))
    expect([status, text]).toEqual([200, expect.anything()])
    return JSON.parse(text)
  }

  test('count the loans of readers', async () => {
    expect(await bodyOf(api.fetch('/api/reports/readers/'))).toEqual([{ reader: 'Ann', loans: 2 }])
  })

  test('list loans with their books', async () => {
    expect(await bodyOf(api.fetch('/api/reports/lent/'))).toEqual([
      { id: 1, reader: 'Ann', book_id: 1, book: { id: 1, title: 'Dune', lent: true } },
      { id: 2, reader: 'Ann', book_id: 2, book: { id: 2, title: 'Emma', lent: true } },
    ])
  })

  test('return all books in one transaction', async () => {
    expect(await bodyOf(api.send('POST', '/api/reports/return-all/', {}))).toEqual({ returned: 2 })
    const lent = await api.database.query({ text: 'select from books where lent', values: [] })
    expect(lent.count).toBe(0)
  })
})
