import { describe, expect, test } from '@jest/globals'
import { mistakesOf } from '../support/config.js'

const yamlWith = (jwks: string): string => `version: 1
auth:
  jwt:
    issuer: https://id.example
    audience: https://api.example
    algorithms: [RS256]
    jwks: ${JSON.stringify(jwks)}
models:
  note:
    fields:
      id: { type: bigint, primary_key: true }
resources:
  note:
    model: note
    path: /notes/
`

const keyMistakes = (jwks: string): string[] => mistakesOf(yamlWith(jwks)).filter((each) => each.startsWith('7:'))

describe('the address of the public keys', () => {
  test.each([
    'https://id.example/keys',
    'http://localhost/keys',
    'http://127.0.0.1:8080/keys',
    'http://[::1]:8080/keys',
  ])('may be %s', (jwks) => expect(keyMistakes(jwks)).toEqual([]))

  test.each([
    'http://id.example/keys',
    'http://localhost.example/keys',
    'http://localhost:80@id.example/keys',
    'http://127.0.0.10/keys',
    'ftp://id.example/keys',
  ])('8: may not be %s, and `check` says where it is', (jwks) => expect(keyMistakes(jwks)).toHaveLength(1))
})
