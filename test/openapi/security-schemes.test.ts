import { expect, test } from '@jest/globals'
import { startApi } from '../support/api.js'

const yamlWith = (auth: string) => `version: 1
${auth}
models:
  note: { table: notes, fields: { id: { type: bigint, primary_key: true } } }
resources:
  note: { model: note, path: /notes/${auth === '' ? '' : ', access: [{ to: anyone, may: list }]'} }
`
const JWT = 'issuer: https://id.example, audience: a, algorithms: [RS256]'
const PROXY = 'proxy: { from: [10.0.0.0/8], subject: X-Auth-User }'
const ANYONE = 'routes: { openapi: anyone }'
const JWT_BEARER = { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' }
const ASSERTION = { type: 'apiKey', in: 'header', name: 'x-assertion' }

test.each<readonly [what: string, auth: string, schemes: object | undefined]>([
  ['nobody signs in', '', undefined],
  ['tokens', `auth: { jwt: { ${JWT} }, ${ANYONE} }`, { bearer: JWT_BEARER }],
  ['keys', `auth: { keys: true, ${ANYONE} }`, { bearer: { type: 'http', scheme: 'bearer' } }],
  [
    'tokens and keys',
    `auth: { keys: true, jwt: { ${JWT} }, ${ANYONE} }`,
    { bearer: { type: 'http', scheme: 'bearer' } },
  ],
  ['a token in another header', `auth: { jwt: { ${JWT}, header: X-Assertion }, ${ANYONE} }`, { assertion: ASSERTION }],
  ['a proxy', `auth: { ${PROXY}, ${ANYONE} }`, undefined],
  [
    'development alone',
    `auth: { development: { ann: {} }, ${ANYONE} }`,
    { authorization: { type: 'apiKey', in: 'header', name: 'Authorization' } },
  ],
])('the document says how clients sign in: %s', async (_what, auth, schemes) => {
  const api = await startApi(yamlWith(auth), { checkResponses: false })
  try {
    for (const path of ['/openapi.json', '/openapi-3.0.json']) {
      const document = (await (await api.fetch(path)).json()) as Document
      expect(document.components.securitySchemes).toEqual(schemes)
      expect(document.security).toEqual(schemes ? [...Object.keys(schemes).map((name) => ({ [name]: [] })), {}] : [])
    }
  } finally {
    await api.close()
  }
})

interface Document {
  readonly security: unknown
  readonly components: { readonly securitySchemes?: object }
}
