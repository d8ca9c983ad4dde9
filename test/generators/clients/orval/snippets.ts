import type { Snippets } from '../snippets.js'
import * as api from './generated.js'
import { ask, told } from './told.js'

export function connect(baseUrl: string): Snippets {
  ask(baseUrl)
  return {
    createByHand: (body) => told(api.snippetsCreate(body)),
    listByHand: () => told(api.snippetsList()),
    destroyByHand: (id) => told(api.snippetsDelete(id)),
    create: (body) => told(api.createSnippet(body)),
    list: (language) => told(api.listSnippet({ language, ordering: ['title'] })),
    replace: (id, body) => told(api.updateSnippet(id, body)),
  }
}
