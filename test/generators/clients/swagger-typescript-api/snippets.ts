import type { Snippets } from '../snippets.js'
import { Api } from './generated/api.js'
import { told } from './told.js'

export function connect(baseUrl: string): Snippets {
  const { api } = new Api({ baseUrl, baseApiParams: { format: 'json' } })
  return {
    createByHand: (body) => told(api.snippetsCreate(body)),
    listByHand: () => told(api.snippetsList()),
    destroyByHand: (id) => told(api.snippetsDelete(id, { format: undefined })),
    create: (body) => told(api.createSnippet(body)),
    list: (language) => told(api.listSnippet({ language, ordering: ['title'] })),
    replace: (id, body) => told(api.updateSnippet(id, body)),
  }
}
