export interface ApiSpec {
  readonly prefix: string
  readonly title: string
  /** Of the resources that name none. */
  readonly dialect: string
  /** Whether there are pages for people; `development` is everywhere but in production. */
  readonly explore: boolean | 'development'
  /** The hosts that are answered for; any if empty. */
  readonly hosts: readonly string[]
  /** The most bytes that any body may have. */
  readonly maxBody: number
  /** Under which clients reach the service, without a slash at the end. */
  readonly publicUrl: string | undefined
  /** Addresses, and ranges of them, of proxies that may say it for a request. */
  readonly trustedProxies: readonly string[]
  /** undefined: scripts of other origins read nothing. */
  readonly cors: CorsSpec | undefined
}

export interface CorsSpec {
  /** As browsers send them; `*` is all of them, and stands alone. */
  readonly origins: readonly string[]
  readonly credentials: boolean
  /** Seconds. */
  readonly maxAge: number
  /** Request headers that are allowed besides the service's own. */
  readonly headers: readonly string[]
}
