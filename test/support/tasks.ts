import { type Api, startApi } from './api.js'
import { ddlOf, specOf } from './config.js'
import { openTestDatabase, type TestDatabase } from './database.js'
import type { Plugin } from '../../src/index.js'

/** Teams with projects and tasks: callers see those of their projects, members change some fields, administrators of a tenant all. */
export const TASKS_YAML = `version: 1
api: { explore: true, prefix: /api }
auth:
  roles: { names: [member, admin, clerk, boss] }
  claims: { tenant: { type: integer } }
  user: { model: user, match: subject }
  sets:
    my_projects: { of: membership.project, rows: { user: $user } }
  routes: { openapi: anyone, explore: anyone }
  development:
    ann: { roles: [member] }
    bob: { roles: [member] }
    eve: {}
    root: { roles: [admin], claims: { tenant: 7 } }
    away: { roles: [admin], claims: { tenant: 8 } }
    both: { roles: [member, admin], claims: { tenant: 7 } }
    lost: { roles: [admin] }
    odd: { roles: [admin], claims: { tenant: "7" } }
    chief: { roles: [member, boss] }
    carl: { roles: [clerk] }
models:
  user:
    table: users
    fields:
      id: { type: bigint, primary_key: true }
      subject: { type: string, max: 100, unique: true }
  project:
    table: projects
    fields:
      id: { type: bigint, primary_key: true }
      tenant: { type: integer }
      name: { type: string, max: 50 }
  membership:
    table: memberships
    fields:
      id: { type: bigint, primary_key: true }
      user: { type: belongs_to, model: user }
      project: { type: belongs_to, model: project }
  task:
    table: tasks
    fields:
      id: { type: bigint, primary_key: true }
      project: { type: belongs_to, model: project }
      title: { type: string, max: 50 }
      status: { type: choice, choices: [open, done, archived], default: open }
      cost: { type: integer, default: 0 }
      creator: { type: string, max: 100, nullable: true }
      next: { type: belongs_to, model: task, nullable: true }
    indexes: [[title, id]]
resources:
  project:
    model: project
    path: /projects/
    access:
      - { to: member, may: read, rows: { id__in: $my_projects } }
      - { to: admin, may: all, rows: { tenant: $tenant } }
      - { to: clerk, may: retrieve }
      - { to: boss, may: read }
  task:
    model: task
    path: /tasks/
    pagination: { count: exact }
    filterable: { title: [exact], cost: [exact, gt, isnull], status: [exact, in] }
    orderable: [title, cost]
    search: [title, creator]
    sparse_fields: true
    distinct: [title, cost]
    expand: { project: { resource: project }, next: { resource: task } }
    bulk: [create, partial_update, destroy]
    idempotency: optional
    access:
      - { to: member, may: read, rows: { project__in: $my_projects }, fields: { except: [cost, creator] } }
      - to: member
        may: create
        rows: { project__in: $my_projects }
        fields: [project, title, next]
        set: { creator: $sub }
      - to: member
        may: change
        rows: { project__in: $my_projects, status: open }
        becomes: { project__in: $my_projects, status__in: [open, done] }
        fields: [title, status, next]
      - { to: member, may: destroy, rows: { creator: $sub } }
      - { to: admin, may: all, rows: { project.tenant: $tenant } }
      - { to: clerk, may: create, fields: [project, title] }
      - { to: boss, may: all }
mounts:
  - { path: /crud, dialect: crud }
`

/** Makes the rows anew: two tenants, three projects; Ann is in the first two, Bob in the third. */
export const TASK_ROWS: readonly string[] = `
truncate users, projects, memberships, tasks restart identity cascade;
insert into users (subject) values ('ann'), ('bob');
insert into projects (tenant, name) values (7, 'garden'), (8, 'house'), (7, 'shed');
insert into memberships (user_id, project_id) values (1, 1), (1, 2), (2, 3);
insert into tasks (project_id, title, status, cost, creator) values
  (1, 'dig', 'open', 5, 'ann'), (1, 'sow', 'done', 6, 'bob'), (2, 'paint', 'open', 7, 'ann'), (3, 'build', 'open', 8, 'bob');
update tasks set next_id = 4 where id = 1;
update tasks set next_id = 2 where id = 3
`.split(';')

export interface Tasks {
  readonly api: Api
  readonly database: TestDatabase
  /** Sends a request as a caller, or as nobody. */
  as(
    name: string | undefined,
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Answer>
  /** Makes the rows anew. */
  reset(): Promise<void>
  close(): Promise<void>
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  /** The body as JSON; undefined without one. */
  readonly json: unknown
}

interface TasksOptions {
  readonly yaml?: string
  readonly plugin?: Plugin
  /** False if callers of different rights get responses that no one document describes. */
  readonly checkResponses?: boolean
}

export async function startTasks({
  yaml = TASKS_YAML,
  plugin,
  checkResponses = true,
}: TasksOptions = {}): Promise<Tasks> {
  const database = await openTestDatabase(ddlOf(specOf(yaml)))
  const api = await startApi(yaml, { database, checkResponses, ...(plugin && { plugin }) })
  return {
    api,
    database,
    async as(name, method, path, body, headers = {}) {
      const response = await api.fetch(path, {
        method,
        headers: {
          ...(name !== undefined && { authorization: `Dev ${name}` }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      return { status: response.status, headers: response.headers, json: text === '' ? undefined : JSON.parse(text) }
    },
    reset: async () => {
      for (const text of TASK_ROWS) await database.query({ text, values: [] })
    },
    async close() {
      await api.close()
      await database.close()
    },
  }
}
