/** The prefix of route names at a mount: `admin-api` for `/admin-api`, `v2-admin` for `/v2/admin`. */
export const mountName = (path: string): string => path.slice(1).replaceAll('/', '-')
