import { access } from './access.js'
import type { Check } from './check.js'
import { growth } from './growth.js'
import { keys } from './keys.js'
import { reload } from './reload.js'
import { resources } from './resources.js'
import { slow } from './slow.js'
import { start } from './start.js'
import { stream } from './stream.js'
import { walk } from './walk.js'

export const CHECKS: ReadonlyMap<string, Check> = new Map([
  ['growth', growth],
  ['walk', walk],
  ['stream', stream],
  ['slow', slow],
  ['resources', resources],
  ['start', start],
  ['reload', reload],
  ['access', access],
  ['keys', keys],
])
