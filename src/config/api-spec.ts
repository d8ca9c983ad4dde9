export interface ApiSpec {
  readonly prefix: string
  readonly title: string
  /** The dialect of resources that name none. */
  readonly dialect: string
  /** Whether the HTML pages are served; `development` means unless `NODE_ENV` is `production`. */
  readonly explore: boolean | 'development'
  /** The hosts that requests may name; any if empty. */
  readonly hosts: readonly string[]
  /** Whether responses of the API are compressed for clients that accept that. */
  readonly compression: boolean
  /** The maximum size of any body, in bytes. */
  readonly maxBody: number
  /** The URL by which clients reach the service, without a slash at the end. */
  readonly publicUrl: string | undefined
  /** Addresses of proxies, and ranges of addresses, that may set the public URL of a request. */
  readonly trustedProxies: readonly string[]
  /** Undefined if scripts of other origins may read nothing. */
  readonly cors: CorsSpec | undefined
}

export interface CorsSpec {
  /** As browsers send them. `*` means all, and must be the only one. */
  readonly origins: readonly string[]
  readonly credentials: boolean
  /** In seconds. */
  readonly maxAge: number
  /** Request headers that are allowed in addition to those of the service. */
  readonly headers: readonly string[]
}
