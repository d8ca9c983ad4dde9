/** What the names of routes at a mount start with: `admin-api` of `/admin-api`, `v2-admin` of `/v2/admin`. */
export const mountName = (path: string): string => path.slice(1).replaceAll('/', '-')
