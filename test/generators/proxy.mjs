import { once } from 'node:events'
import express from 'express'
import * as OpenApiValidator from 'express-openapi-validator'

/** A proxy in front of a service that notes where the document and the service disagree. */
export async function startProxy(document, target) {
  const findings = []
  const app = express()
  app.use(express.json({ type: ['application/json', 'application/*+json'], strict: false }))
  app.use(
    OpenApiValidator.middleware({
      apiSpec: document,
      validateRequests: true,
      // What the format says beyond its pattern, no validator but ours knows.
      formats: { decimal: { type: 'string', validate: () => true } },
      validateResponses: {
        onError: (error, body, request) =>
          findings.push(
            `${request.method} ${request.originalUrl}: the answer ${error.message} ${JSON.stringify(body)}`,
          ),
      },
    }),
  )
  const forward = async (request, response, refusal) => {
    const { host: _, 'content-length': __, ...headers } = request.headers
    const hasBody = request.body !== undefined && request.method !== 'GET'
    const answer = await fetch(target + request.originalUrl, {
      method: request.method,
      headers,
      ...(hasBody && { body: JSON.stringify(request.body) }),
    })
    const asked = `${request.method} ${request.originalUrl} ${JSON.stringify(request.body)}`
    if (refusal && answer.ok) findings.push(`${asked}: the document refuses (${refusal.message}), the service does not`)
    if (!refusal && [400, 415, 422].includes(answer.status))
      findings.push(`${asked}: the service refuses, the document does not`)
    const text = await answer.text()
    response.status(answer.status)
    for (const [name, value] of answer.headers) {
      if (!['content-length', 'transfer-encoding', 'connection'].includes(name)) response.set(name, value)
    }
    if (text === '' || refusal) response.end(text)
    else response.json(JSON.parse(text))
  }
  app.use((request, response, next) => void forward(request, response).catch(next))
  app.use((error, request, response, next) => {
    if (error.status >= 500 || response.headersSent) return next(error)
    forward(request, response, error).catch(next)
  })
  app.use((error, request, response, _next) => {
    findings.push(`${request.method} ${request.originalUrl}: ${error.stack}`)
    response.status(500).end()
  })
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    findings,
    close: () => new Promise((resolve) => void (server.close(resolve), server.closeAllConnections())),
  }
}
