/** The prefix of route names at a mount: `admin-api` for `/admin-api`, `v2-admin` for `/v2/admin`. */
export function mountName(path: string): string {
  return path.slice(1).replaceAll('/', '-')
}
