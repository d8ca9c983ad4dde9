import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { blocksOf } from '../support/pages.js'
import { projectPerTest } from '../support/project-per-test.js'

const project = projectPerTest()
const { run, sql: given } = project

test('the page about existing databases shows the report and the file that its tables give', async () => {
  const blocks = blocksOf(await readFile('docs/introspect.md', 'utf8'))
  const [tables = ''] = blocks.flatMap(({ language, text }) => (language === 'sql' ? [text] : []))
  const [report = '', file = '', kept = ''] = blocks.flatMap(({ language, text }) =>
    language === 'text' ? [text] : [],
  )
  await given(tables)
  const [command = '', ...text] = kept.trim().split('\n')
  expect(await run(...command.split(' ').slice(3))).toMatchObject({ code: 0, stdout: `${text.join('\n')}\n` })
  const { code, stderr } = await run('introspect')
  expect({ code, text: `$ npx snippetctl introspect\n${stderr}`.trim() }).toEqual({ code: 0, text: report.trim() })
  expect((await readFile(join(project.folder, 'resources.yaml'), 'utf8')).trim()).toBe(file.trim())
  expect(await run('check')).toMatchObject({ code: 0 })
  expect(await run('check', '--database')).toMatchObject({ code: 0 })
  expect(await run('migrate', 'plan', '--exit-code')).toMatchObject({ code: 0 })
})
