/** The links of a response, by relation. */
export function linksOf({ headers }: { readonly headers: Headers }): Readonly<Record<string, string>> {
  const links = (headers.get('link') ?? '').matchAll(/<([^>]*)>; rel="(\w+)"/g)
  return Object.fromEntries([...links].map(([, url = '', rel = '']) => [rel, url]))
}
