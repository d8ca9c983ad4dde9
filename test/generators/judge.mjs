/** Uses a service through a proxy that validates: `judge.mjs DOCUMENT URL SERVICE CLIENT`. Ends with 1 where the two disagree. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { startProxy } from './proxy.mjs'

const [document, target, service, client] = process.argv.slice(2)
const proxy = await startProxy(document, target)
try {
  await promisify(execFile)(process.execPath, [client, proxy.url])
} catch (error) {
  proxy.findings.push(String(error.stderr ?? error))
}
await (service === 'market' ? market() : snippets())
await proxy.close()
for (const finding of proxy.findings) console.error(finding)
process.exitCode = proxy.findings.length === 0 ? 0 : 1

/** Requests that the generated client does not send: it sends records back unchanged, and spells queries differently. */
async function market() {
  const seller = await send('POST', '/market/sellers/', { name: 'Bea', id: 7 })
  await send('PUT', `/market/sellers/${seller.id}/`, seller, { 'if-match': '*' })
  const product = await send('POST', '/market/products/', { seller: seller.id, title: 'Pen', price: '1', labels: {} })
  const at = `/market/products/${product.id}/`
  await send('PATCH', at, product)
  await send('PUT', at, { ...product, pin: null })
  await send('GET', `${at}partial/?fields=title&expand=seller`)
  await send('POST', '/market/products/bulk/', [
    { seller: seller.id, title: 'Ink', price: '2', labels: [], extra: null },
  ])
  await send('PATCH', '/market/products/', [{ id: product.id, grade: null }])
  await send('GET', `${at}quote/?pieces=2`)
  await send('POST', `${at}retire/`)
  const key = { 'idempotency-key': `key-${process.pid}-1` }
  const order = await send('POST', '/market/orders/', { product: product.url, amount: 1 }, key)
  await send('DELETE', `/market/orders/${order.id}/`)
  for (const path of [
    '/market/products/',
    '/market/stalls/?ordering=-title,price&state=draft',
    '/market/orders/?limit=1',
  ])
    await send('GET', path)
  for (const path of [
    '/json-server/products?_start=0&_end=5&title_like=e',
    `/json-server/products/${product.id}`,
    `/simple-rest/products?${spell({ range: '[0,4]', sort: '["title","ASC"]', filter: '{"state":"draft"}' })}`,
    `/crud/products?${spell({ limit: 2, page: 1, s: '{"price":{"$gte":"1"}}' })}`,
    '/crud/products',
  ])
    await send('GET', path)
  for (const mount of ['json-server', 'simple-rest', 'crud'])
    await send('PUT', `/${mount}/products/${product.id}`, { title: mount, id: product.id })
  await send('DELETE', `/market/products/?ids=${product.id}`)
  await send('DELETE', `/crud/sellers/${seller.id}`, undefined, { 'if-match': '*' })
}

async function snippets() {
  const draft = { title: 'Greeting', code: 'x', language: 'text' }
  const { snippet } = await send('POST', '/api/snippets/', draft)
  await send('PUT', `/api/snippets/${snippet.id}/`, snippet)
  const shown = await send('GET', `/api/snippets-viewset/${snippet.id}/`)
  await send('PUT', `/api/snippets-viewset/${snippet.id}/`, shown)
  await send('GET', '/api/snippets-viewset/?ordering=-title,created_at&page=1&page_size=500')
  await send('GET', '/api/snippets/config/')
  await send('POST', '/api/snippets-viewset/', { ...draft, title: '' })
  await send('DELETE', `/api/snippets/${snippet.id}/`)
}

function spell(query) {
  return Object.entries(query)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join('&')
}

async function send(method, path, body, headers = {}) {
  const answer = await fetch(proxy.url + path, {
    method,
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  if (answer.status >= 500) proxy.findings.push(`${method} ${path}: ${answer.status} ${text}`)
  return text === '' ? undefined : JSON.parse(text)
}
