import type { AppSpec, Database } from '../../src/internal.js'
import { schemaServes } from './schema.js'

const CHECK_INTERVAL_MS = 1_000

/** Waits until another process has migrated the database to the schema that a configuration needs. */
export interface SchemaWait {
  /**
   * Replaces the current wait, and calls `fits` when the schema serves the configuration.
   * @param tried whether a reload already failed although the schema fitted: then `fits` is called only after the schema has changed and fits again
   */
  begin(wait: { readonly spec: AppSpec; readonly tried: boolean }, fits: () => void): void
  end(): void
}

/** Checks once a second whether another process has applied the migrations that a configuration needs. */
export function awaitSchema(database: Database): SchemaWait {
  let timer: NodeJS.Timeout | undefined
  let current = 0

  const end = () => {
    current += 1
    clearTimeout(timer)
  }

  return {
    begin: ({ spec, tried }, fits) => {
      end()
      const mine = current
      let wasServed = tried
      const check = async (): Promise<void> => {
        // An unavailable database counts as not migrated; the next check tries again.
        const isServed = await schemaServes(spec, database).catch(() => false)
        if (mine !== current) return
        if (isServed && !wasServed) return fits()
        wasServed = isServed
        later()
      }
      const later = () => {
        timer = setTimeout(() => void check(), CHECK_INTERVAL_MS).unref()
      }
      later()
    },
    end,
  }
}
