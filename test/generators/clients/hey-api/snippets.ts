import type { Snippets } from '../snippets.js'
import { client } from './generated/client.gen.js'
import * as api from './generated/sdk.gen.js'
import { told } from './told.js'

export function connect(baseUrl: string): Snippets {
  client.setConfig({ baseUrl })
  return {
    createByHand: (body) => told(api.snippetsCreate({ body })),
    listByHand: () => told(api.snippetsList()),
    destroyByHand: (id) => told(api.snippetsDelete({ path: { id } })),
    create: (body) => told(api.createSnippet({ body })),
    list: (language) => told(api.listSnippet({ query: { language, ordering: ['title', '-created_at'] } })),
    replace: (id, body) => told(api.updateSnippet({ path: { id }, body })),
  }
}
