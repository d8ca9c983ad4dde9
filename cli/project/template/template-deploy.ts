import type { TemplateFile, ProjectSettings } from './template-file.js'

/** The deployment files of a new project: an image, compose, a proxy and a CI workflow. */
export function deploymentFiles(settings: ProjectSettings): readonly TemplateFile[] {
  return [
    { path: 'Dockerfile', text: dockerfile(settings), what: 'an image of the project' },
    { path: '.dockerignore', text: DOCKERIGNORE, what: '' },
    { path: 'compose.yaml', text: compose(settings), what: 'the image with PostgreSQL, and with the proxy' },
    { path: 'deploy/nginx.conf', text: NGINX, what: 'a proxy that asks for a password' },
    { path: '.github/workflows/check.yml', text: WORKFLOW, what: 'checks every push' },
  ]
}

function dockerfile({ name }: ProjectSettings): string {
  return `# docker build -t ${name} .

FROM node:22-slim AS packages
WORKDIR /app
# The pattern *.tgz also copies packages that package.json refers to by a local file.
COPY package.json package-lock.json .npmrc *.tgz ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund

FROM node:22-slim
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
# Copies only the files that .dockerignore allows.
COPY . .
# Fails the build if the configuration has a mistake. It also compiles the plugins, because the container's file system is read-only at run time.
RUN node node_modules/snippetctl/bin/snippetctl.js check
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8000 SNIPPETCTL_ADMIN_PORT=9000
# Kubernetes needs a number to verify that the user is not root. The user owns no file in /app.
USER 1000:1000
EXPOSE 8000 9000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s --retries=3 \\
  CMD ["node", "-e", "fetch(\`http://127.0.0.1:\${process.env.SNIPPETCTL_ADMIN_PORT}/livez\`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "node_modules/snippetctl/bin/snippetctl.js"]
CMD ["serve"]
`
}

const DOCKERIGNORE = `# Ignores every file, and then allows the files of the image, so that no file with passwords gets in by accident.
*
!package.json
!package-lock.json
!.npmrc
!*.tgz
!resources.yaml
!migrations
!plugins
`

function compose({ name }: ProjectSettings): string {
  return `# Copy .env.example to .env and set POSTGRES_PASSWORD there. Then:  docker compose up --build
name: ${JSON.stringify(name.replaceAll('.', '-'))}

x-service: &service
  image: ${JSON.stringify(name)}
  build: .
  environment:
    DATABASE_URL: postgres://app:\${POSTGRES_PASSWORD:?a password of letters and digits}@database:5432/app
  read_only: true
  tmpfs: [/tmp]
  cap_drop: [ALL]
  security_opt: ["no-new-privileges:true"]

services:
  database:
    image: postgres:17
    environment:
      POSTGRES_USER: app
      POSTGRES_DB: app
      POSTGRES_PASSWORD: \${POSTGRES_PASSWORD:?a password of letters and digits}
    volumes: ["database:/var/lib/postgresql/data"]
    healthcheck:
      # Checks over TCP: during initialization, PostgreSQL listens only on a Unix socket.
      test: [CMD, pg_isready, --host=127.0.0.1, --username=app, --dbname=app]
      interval: 2s
      timeout: 3s
      retries: 30
    stop_grace_period: 1m
    restart: unless-stopped

  migrate:
    <<: *service
    command: [migrate, up]
    depends_on:
      database: { condition: service_healthy }
    restart: "no"

  service:
    <<: *service
    command: [serve]
    depends_on:
      migrate: { condition: service_completed_successfully }
    ports: ["127.0.0.1:8000:8000"]
    # The drain delay plus 15 s for requests in progress.
    stop_grace_period: 20s
    restart: unless-stopped

  # Asks for a user name and a password. Create the first account, then start the proxy with the other services:
  #   printf "alice:$(openssl passwd -apr1)\\n" > deploy/users
  #   docker compose --profile proxy up --build
  proxy:
    image: nginx:1.28
    profiles: [proxy]
    volumes:
      - ./deploy/nginx.conf:/etc/nginx/conf.d/default.conf:ro
      - ./deploy/users:/etc/nginx/users:ro
    depends_on: [service]
    ports: ["127.0.0.1:8080:8080"]
    restart: unless-stopped

volumes:
  database:
`
}

/** The same file is in `deploy/` of the package; a test compares them. */
const NGINX = `# A proxy with password authentication for the service, which has no accounts.
# Passwords need TLS: beyond this machine, listen on 443 with ssl, ssl_certificate and ssl_certificate_key.

upstream service {
  server service:8000;
  keepalive 16;
}

server {
  listen 8080;

  auth_basic "restricted";
  auth_basic_user_file /etc/nginx/users;

  # The service rejects large bodies with a reason; this only limits disk use of the proxy.
  client_max_body_size 64m;

  location / {
    proxy_pass http://service;
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    proxy_set_header Host $http_host;
    proxy_set_header X-Forwarded-For $remote_addr;
    proxy_set_header X-Forwarded-Proto $scheme;
    proxy_set_header X-Forwarded-Host $http_host;
    # Clients can send this header too, and the service trusts this proxy if api.trusted_proxies lists it.
    proxy_set_header Forwarded "";
    # Handlers and hooks read the user name here. It replaces the client's header.
    proxy_set_header X-Remote-User $remote_user;
    # The password stays in the proxy.
    proxy_set_header Authorization "";
    # Never retry: a write whose response is lost may have been stored.
    proxy_next_upstream off;
    # Longer than any response takes.
    proxy_read_timeout 60s;
  }
}
`

const WORKFLOW = `name: check
on: [push, pull_request]
permissions:
  contents: read
jobs:
  check:
    runs-on: ubuntu-latest
    services:
      postgres:
        image: postgres:17
        env: { POSTGRES_PASSWORD: postgres }
        ports: ["5432:5432"]
        options: --health-cmd pg_isready --health-interval 2s --health-retries 30
    env:
      DATABASE_URL: postgres://postgres:postgres@127.0.0.1:5432/postgres
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-node@v4
        with: { node-version: 22, cache: npm }
      - run: npm ci
      - name: The configuration has no mistake
        run: npx snippetctl check --format github
      - name: No migration is missing
        run: npx snippetctl migrate plan --exit-code
      - name: The migrations run
        run: npx snippetctl migrate up
`
