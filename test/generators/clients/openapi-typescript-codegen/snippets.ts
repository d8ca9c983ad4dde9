import type { Snippets } from '../snippets.js'
import { OpenAPI, SnippetService, SnippetsService } from './generated/index.js'
import { hasId, isAny, isList, told } from './told.js'

const has =
  <Name extends string>(name: Name) =>
  <Data>(data: Data): data is Extract<Data, Readonly<Record<Name, unknown>>> =>
    typeof data === 'object' && data !== null && name in data

export function connect(baseUrl: string): Snippets {
  OpenAPI.BASE = baseUrl
  return {
    createByHand: (requestBody) => told(201, SnippetsService.snippetsCreate({ requestBody }), has('snippet')),
    listByHand: () => told(200, SnippetsService.snippetsList(), has('snippets')),
    destroyByHand: (id) => told(204, SnippetsService.snippetsDelete({ id }), isAny),
    create: (requestBody) => told(201, SnippetService.createSnippet({ requestBody }), hasId),
    list: (language) => told(200, SnippetService.listSnippet({ language, ordering: ['title'] }), isList),
    replace: (id, requestBody) => told(200, SnippetService.updateSnippet({ id, requestBody }), hasId),
  }
}
