import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'

/** A record as a client sees it. */
export type Item = Readonly<Record<string, unknown>>

type Ids = readonly unknown[]

/** The methods of a data provider that react-admin calls. */
export interface ReactAdminProvider {
  getList(resource: string, params: ListParams): Promise<{ readonly data: readonly Item[]; readonly total: number }>
  getOne(resource: string, params: { readonly id: unknown }): Promise<{ readonly data: Item }>
  getMany(resource: string, params: { readonly ids: Ids }): Promise<{ readonly data: readonly Item[] }>
  getManyReference(
    resource: string,
    params: ListParams & { readonly target: string; readonly id: unknown },
  ): Promise<{ readonly data: readonly Item[]; readonly total: number }>
  create(resource: string, params: { readonly data: Item }): Promise<{ readonly data: Item }>
  update(resource: string, params: Change & { readonly id: unknown }): Promise<{ readonly data: Item }>
  updateMany(resource: string, params: Change & { readonly ids: Ids }): Promise<{ readonly data?: Ids }>
  delete(
    resource: string,
    params: { readonly id: unknown; readonly previousData: Item },
  ): Promise<{ readonly data: Item }>
  deleteMany(resource: string, params: { readonly ids: Ids }): Promise<{ readonly data?: Ids }>
}

interface ListParams {
  readonly pagination: { readonly page: number; readonly perPage: number }
  readonly sort: { readonly field: string; readonly order: 'ASC' | 'DESC' }
  readonly filter: Item
}

interface Change {
  readonly data: Item
  readonly previousData?: Item
}

/** The methods of a data provider that refine calls; missing ones are replaced by single calls. */
export interface RefineProvider {
  getList(params: RefineList): Promise<{ readonly data: readonly Item[]; readonly total: number }>
  getOne(params: { readonly resource: string; readonly id: unknown }): Promise<{ readonly data: Item }>
  getMany?(params: { readonly resource: string; readonly ids: Ids }): Promise<{ readonly data: readonly Item[] }>
  create(params: { readonly resource: string; readonly variables: Item }): Promise<{ readonly data: Item }>
  createMany?(params: {
    readonly resource: string
    readonly variables: readonly Item[]
  }): Promise<{ readonly data: readonly Item[] }>
  update(params: RefineChange & { readonly id: unknown }): Promise<{ readonly data: Item }>
  updateMany?(params: RefineChange & { readonly ids: Ids }): Promise<{ readonly data: readonly Item[] }>
  deleteOne(params: { readonly resource: string; readonly id: unknown }): Promise<unknown>
  deleteMany?(params: { readonly resource: string; readonly ids: Ids }): Promise<unknown>
}

interface RefineList {
  readonly resource: string
  readonly pagination?: { readonly currentPage?: number; readonly pageSize?: number; readonly mode?: 'off' | 'server' }
  readonly sorters?: readonly { readonly field: string; readonly order: 'asc' | 'desc' }[]
  readonly filters?: readonly { readonly field: string; readonly operator: string; readonly value: unknown }[]
}

interface RefineChange {
  readonly resource: string
  readonly variables: Item
}

/** The unmodified providers. */
export interface Providers {
  readonly simpleRest: (url: string) => ReactAdminProvider
  readonly jsonServer: (url: string) => ReactAdminProvider
  readonly djangoRest: (url: string) => ReactAdminProvider
  readonly refineSimpleRest: (url: string) => RefineProvider
  readonly nestjsxCrud: (url: string) => RefineProvider
  readonly createSimpleRestDataProvider: (at: { readonly apiURL: string }) => { readonly dataProvider: RefineProvider }
}

/** Bundles them as for a browser: react-admin's core alone has thousands of files, of which they use one function. */
export async function loadProviders(): Promise<Providers> {
  const folder = await mkdtemp(join(tmpdir(), 'snippetctl-providers-'))
  const outfile = join(folder, 'providers.mjs')
  try {
    await build({
      entryPoints: ['test/clients/providers.js'],
      outfile,
      bundle: true,
      format: 'esm',
      platform: 'browser',
      define: { 'process.env.NODE_ENV': '"production"' },
      logLevel: 'error',
    })
    return (await import(pathToFileURL(outfile).href)) as Providers
  } finally {
    await rm(folder, { recursive: true })
  }
}
