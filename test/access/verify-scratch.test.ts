import { expect, test } from '@jest/globals'
import { openOnlyOnServer } from '../support/database.js'
import { GRANTS, verify, yamlWith } from '../support/verified.js'

test('a service that does what its rules say has no difference', async () => {
  const scratch = await openOnlyOnServer()
  try {
    const { code, requests, differences, idle, empty } = await verify(yamlWith(GRANTS), { scratch: scratch?.url })
    expect({ code, differences, idle, empty }).toEqual({ code: 0, differences: [], idle: [], empty: [] })
    expect(requests).toBeGreaterThan(100)
    const left = await scratch?.query({
      text: "select tablename from pg_tables where schemaname = 'public'",
      values: [],
    })
    expect(left?.rows ?? []).toEqual([])
  } finally {
    await scratch?.close()
  }
})

test('a service has no difference where a migration creates the collation of a field', async () => {
  const yaml = yamlWith(GRANTS).replace('title: { type: string, max: 20', 'title: { type: text, collation: own')
  const scratch = await openOnlyOnServer()
  try {
    const files = {
      'migrations/0001_own.sql': '-- up\ncreate collation own from "C";\n-- down\ndrop collation own;\n',
    }
    const { code, differences } = await verify(yaml, { files, scratch: scratch?.url })
    expect({ code, differences }).toEqual({ code: 0, differences: [] })
    const left = await scratch?.query({ text: "select from pg_collation where collname = 'own'", values: [] })
    expect(left?.rows ?? []).toEqual([])
  } finally {
    await scratch?.close()
  }
})
