import { deploymentFiles } from './template-deploy.js'
import type { TemplateFile, ProjectSettings } from './template-file.js'

/** The files of a project that depends on this package, in the order in which they are listed. */
export function templateFiles(settings: ProjectSettings): readonly TemplateFile[] {
  const { empty, language } = settings
  const plugin = `plugins/books.${language}`
  const example = [
    { path: 'migrations/0001_create_books.sql', text: MIGRATION, what: 'its table' },
    { path: plugin, text: language === 'ts' ? PLUGIN : asJavaScript(PLUGIN), what: 'one hand-written route, typed' },
  ]
  return [
    {
      path: 'resources.yaml',
      text: empty ? emptyConfiguration(settings) : configuration(settings, plugin),
      what: empty ? 'nothing in it yet' : 'one resource, book, with comments',
    },
    ...(empty ? [] : example),
    { path: 'package.json', text: manifest(settings), what: `depends on snippetctl ${settings.version}` },
    { path: 'tsconfig.json', text: TSCONFIG, what: 'for the editor; plugins are compiled without it' },
    { path: '.gitignore', text: GITIGNORE, what: '' },
    { path: '.npmrc', text: NPMRC, what: 'npm runs no scripts of packages' },
    { path: '.env.example', text: ENVIRONMENT, what: 'the variables that are set most often' },
    { path: 'README.md', text: readme(settings), what: '' },
    { path: '.vscode/extensions.json', text: EXTENSIONS, what: 'the editor completes and checks resources.yaml' },
    ...deploymentFiles(settings),
  ]
}

function head({ name }: ProjectSettings): string {
  return `# yaml-language-server: $schema=./node_modules/snippetctl/resources.schema.json
version: 1

api:
  prefix: /api
  title: ${JSON.stringify(name)}
`
}

function emptyConfiguration(settings: ProjectSettings): string {
  return `${head(settings)}
# The first resource:  npx snippetctl add resource book title:string!
`
}

function configuration(settings: ProjectSettings, plugin: string): string {
  return `${head(settings)}
plugins:
  - ./${plugin}        # your own routes, next to the generated routes

models:
  book:                       # a table, and the rules of its fields
    table: books
    fields:
      id:         { type: bigint, primary_key: true }          # assigned by the server
      title:      { type: string, min: 1, max: 200 }           # required: it is not nullable and has no default
      pages:      { type: integer, minimum: 1, nullable: true }
      created_at: { type: timestamp, auto: on_create }
    indexes:
      - [title, id]           # serves the filter below
      - [created_at, id]      # serves the order below

resources:
  book:                       # a model that is served; its routes are called book-list and book-detail
    model: book
    path: /books/             # /api/books/ and /api/books/{id}/
    filterable: [title]       # /api/books/?title=Emma
    orderable: [created_at]   # /api/books/?ordering=-created_at
`
}

/** The migration that `migrate plan` writes for the configuration; a test compares them. */
const MIGRATION = `-- up

create table "books" (
  "id" bigint generated always as identity,
  "title" varchar(200) collate "C" not null,
  "pages" integer,
  "created_at" timestamptz not null default now(),
  constraint "books_pkey" primary key ("id"),
  constraint "books_title_length" check (char_length("title") >= 1),
  constraint "books_pages_range" check ("pages" >= '1'::integer)
);

create index "books_title_id_idx" on "books" ("title", "id");

create index "books_created_at_id_idx" on "books" ("created_at", "id");

-- down

drop table "books";
`

const PLUGIN = `import { type Plugin, Problem } from 'snippetctl'

/** GET /api/books/{id}/summary/: one line about a book. */
const plugin: Plugin = (app) => {
  const books = app.resource('book')

  app.route('GET', '/books/{id}/summary/', 'book-summary', async (context) => {
    const id = books.parseId(context.params['id'] ?? '')
    const book = id === undefined ? undefined : await context.store(books).retrieve(id)
    if (book === undefined) throw new Problem('not_found', 'No such book')
    const pages = book.pages === null ? 'nobody counted the pages' : String(book.pages) + ' pages'
    return { status: 200, body: { summary: String(book.title) + ': ' + pages } }
  })
}

export default plugin
`

/** The plugin without TypeScript's syntax: a comment tells the editor its type. */
function asJavaScript(text: string): string {
  return text
    .replace('type Plugin, ', '')
    .replace('const plugin: Plugin', "/** @type {import('snippetctl').Plugin} */\nconst plugin")
}

function manifest({ name, version }: ProjectSettings): string {
  return `${JSON.stringify(
    {
      name,
      private: true,
      type: 'module',
      scripts: { start: 'snippetctl serve', check: 'snippetctl check', types: 'snippetctl types' },
      dependencies: { snippetctl: version },
    },
    undefined,
    2,
  )}\n`
}

const TSCONFIG = `{
  "compilerOptions": {
    "target": "es2023",
    "module": "nodenext",
    "strict": true,
    "noEmit": true,
    "allowJs": true,
    "checkJs": true,
    "skipLibCheck": true
  },
  "include": ["plugins", ".snippetctl/types.d.ts"]
}
`

const GITIGNORE = `node_modules/
.snippetctl/
*.log
.env
*.private.json
deploy/users
`

const NPMRC = `# Packages cannot run scripts while they are installed. To run the scripts of one package: npm rebuild NAME --ignore-scripts=false
ignore-scripts=true
`

const ENVIRONMENT = `# Copy this file to .env, and remove the # from each variable that you set. snippetctl reads .env unless NODE_ENV is production.
# Variables of the environment take precedence. Git ignores .env. Docker Compose reads it too.

# DATABASE_URL=postgres://user:password@localhost:5432/database
# PORT=8000
# HOST=127.0.0.1

# For compose.yaml. Use letters and digits only, for example the output of \`openssl rand -hex 24\`
# POSTGRES_PASSWORD=
`

const EXTENSIONS = `{
  "recommendations": ["redhat.vscode-yaml"]
}
`

function readme({ name, empty }: ProjectSettings): string {
  return `# ${name}

A REST API over PostgreSQL, declared in [resources.yaml](resources.yaml).

\`\`\`sh
npm install
npm start                    # http://127.0.0.1:8000, on an embedded database in .snippetctl/
${empty ? '' : 'curl -s localhost:8000/api/books/\n'}\`\`\`

| To | Run |
| --- | --- |
| find every mistake in the file | \`npx snippetctl check\` |
| have the compiler know every column and route | \`npm run types\` |
| see all routes | \`npx snippetctl routes\` |
| add a resource | \`npx snippetctl add resource author name:string!\` |
| write the migration for a change | \`npx snippetctl migrate plan --write NAME\` |
| learn what a key means | \`npx snippetctl explain resources.filterable\` |
| find out what is wrong with this machine | \`npx snippetctl doctor\` |

To use a PostgreSQL server, set \`DATABASE_URL=postgres://…\` in the environment or in \`.env\`, and apply migrations with
\`npx snippetctl migrate up\`.

\`docker compose up --build\` runs the image of the [Dockerfile](Dockerfile) with PostgreSQL ([compose.yaml](compose.yaml)). The API
asks for no password. [deploy/nginx.conf](deploy/nginx.conf) configures a proxy that does; \`compose.yaml\` says how to start it.
[check.yml](.github/workflows/check.yml) checks every push.
`
}
