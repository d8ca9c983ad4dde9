import { featureParameters } from '../features/index.js'
import type { Resource } from '../resource/resource.js'
import type { Member } from './spelling.js'

/** The parameters of a list; undefined for a resource in a dialect, which has its own parameters. */
export function listParameters({ spec }: Resource): readonly Member[] | undefined {
  if (spec.dialect) return undefined
  return featureParameters(spec, 'list').map(({ name, typescript }) => ({
    name,
    type: `${typescript} | undefined`,
    optional: true,
  }))
}
