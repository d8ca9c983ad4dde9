import { afterEach } from '@jest/globals'
import { makeProject, type Project, runInHost } from './cli.js'

const projects: Project[] = []
afterEach(() => Promise.all(projects.splice(0).map((project) => project.remove())))

export const AUTH = 'auth: { roles: { names: [member] }, claims: { tenant: { type: integer } } }'
/** A project with these lines as the grants of its tasks. */
export const yamlWith = (access: string, more = '') => `version: 1
${AUTH}
${more}
models:
  project:
    table: projects
    fields: { id: { type: bigint, primary_key: true }, tenant: { type: integer, nullable: true } }
  task:
    table: tasks
    fields:
      id: { type: bigint, primary_key: true }
      project: { type: belongs_to, model: project }
      title: { type: string, max: 20 }
      status: { type: choice, choices: [open, done], default: open }
resources:
  project: { model: project, path: /projects/, access: [{ to: signed_in, may: read, rows: { tenant: $tenant } }] }
  task:
    model: task
    path: /tasks/
    access:
      ${access}
`
export const GRANTS = `- { to: member, may: read, rows: { project.tenant: $tenant } }
      - { to: member, may: [change, create, destroy], rows: { project.tenant: $tenant, status: open }, becomes: { project.tenant: $tenant } }`

/** Runs `access --verify`, by default in an embedded database. */
export const verify = async (
  yaml: string,
  {
    plugin = '',
    scratch,
    files = {},
  }: { plugin?: string; scratch?: string | undefined; files?: Record<string, string> } = {},
) => {
  const project = await makeProject({ 'resources.yaml': yaml, ...files, ...(plugin && { 'plugin.mjs': plugin }) })
  projects.push(project)
  const args = ['access', '--verify', '--json', ...(scratch ? ['--scratch', scratch] : [])]
  const { code, stdout, stderr } = await runInHost(args, { cwd: project.folder })
  if (stdout === '') throw new Error(stderr)
  return { code, ...(JSON.parse(stdout) as Verified) }
}

interface Verified {
  readonly requests: number
  readonly differences: readonly { readonly request: string; readonly expected: string; readonly found: string }[]
  readonly idle: readonly { readonly line: number; readonly condition: string; readonly reason: string }[]
  readonly empty: readonly unknown[]
}
