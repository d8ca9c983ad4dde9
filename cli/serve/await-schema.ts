import type { AppSpec, Database } from '../../src/internal.js'
import { schemaServes } from './schema.js'

/** Milliseconds between two looks at the schema. */
const PAUSE = 1_000

/** Waits until another process has migrated the database to the schema that a configuration needs. */
export interface SchemaWait {
  /**
   * Ends the wait and calls `fits` when the schema serves the configuration.
   * @param tried whether the schema has served it already, in vain: then `fits` is called when the schema serves it again after it has not
   */
  begin(wait: { readonly spec: AppSpec; readonly tried: boolean }, fits: () => void): void
  end(): void
}

/** Looks once a second whether migrations that another process applies have made the schema of a configuration. */
export function awaitSchema(database: Database): SchemaWait {
  let timer: NodeJS.Timeout | undefined
  let turn = 0

  const end = () => {
    turn += 1
    clearTimeout(timer)
  }

  return {
    begin: ({ spec, tried }, fits) => {
      end()
      const mine = turn
      let wasServed = tried
      const look = async (): Promise<void> => {
        // A database that is away is looked at once it is back.
        const isServed = await schemaServes(spec, database).catch(() => false)
        if (mine !== turn) return
        if (isServed && !wasServed) return fits()
        wasServed = isServed
        later()
      }
      const later = () => {
        timer = setTimeout(() => void look(), PAUSE).unref()
      }
      later()
    },
    end,
  }
}
