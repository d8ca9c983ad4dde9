/**
 * The script of pages where callers sign in. Browsers request a page without a credential and get the public version; this script requests the same
 * page with the credential of the tab, and replaces the document. The service sets no cookies, so other sites cannot act for the caller.
 */
export const SIGN_IN_SCRIPT = String.raw`;(() => {
  const KEY = 'explore-credential'
  const read = () => { try { return sessionStorage.getItem(KEY) } catch { return null } }
  const keep = (credential) => credential === null ? sessionStorage.removeItem(KEY) : sessionStorage.setItem(KEY, credential)
  const root = document.documentElement
  const initial = read()

  // Requests to this server, and to no other, have the credential. The window outlives the documents that are written into it.
  if (!window.fetchPlainly) {
    window.fetchPlainly = window.fetch
    window.fetch = (input, init = {}) => {
      const request = input instanceof Request
      const credential = read()
      if (!credential || new URL(request ? input.url : input, location.href).origin !== location.origin) return fetchPlainly(input, init)
      const headers = new Headers(init.headers || (request ? input.headers : undefined))
      if (!headers.has('Authorization')) headers.set('Authorization', credential)
      return fetchPlainly(input, { ...init, headers })
    }
  }

  const showError = (words) => {
    root.hidden = false
    const dialog = document.getElementById('sign-in')
    const form = document.querySelector('main [data-sign-in]') || document.querySelector('[data-sign-in]')
    if (!form) return alert(words)
    if (dialog && dialog.contains(form) && !dialog.open) dialog.showModal()
    form.querySelector('.error').textContent = words
    form.querySelector('input').focus()
  }
  const detailOf = async (response) => {
    const problem = await response.json().catch(() => ({}))
    return response.status + ' ' + (problem.detail || response.statusText)
  }
  // Replaces the page with the version for this credential.
  const show = async (credential) => {
    const before = read()
    keep(credential)
    try {
      const response = await fetch(location.href, { headers: { Accept: 'text/html' } })
      if ((response.headers.get('Content-Type') || '').startsWith('text/html')) {
        const text = await response.text()
        window.shownFor = credential
        document.open()
        document.write(text)
        document.close()
        return
      }
      keep(response.status === 401 && credential === before ? null : before)
      showError(await detailOf(response))
    } catch (error) {
      keep(before)
      showError('No response: ' + error.message)
    }
  }

  const isOther = initial && !('caller' in root.dataset) && window.shownFor !== initial
  if (isOther) root.hidden = true
  addEventListener('pageshow', (event) => { if (event.persisted && read() !== initial) location.reload() })

  document.addEventListener('DOMContentLoaded', () => {
    if (isOther) show(initial)
    for (const form of document.querySelectorAll('[data-sign-in]')) form.addEventListener('submit', (event) => {
      event.preventDefault()
      const text = form.querySelector('input').value.trim()
      if (/[^ -~]/.test(text)) showError('A token or key has only printable ASCII characters.')
      else if (text) show(text.includes(' ') ? text : 'Bearer ' + text)
    })
    for (const button of document.querySelectorAll('[data-act-as]')) button.addEventListener('click', () => show('Dev ' + button.dataset.actAs))
    const out = document.querySelector('[data-sign-out]')
    if (out) out.addEventListener('click', () => {
      keep(null)
      window.shownFor = undefined
      location.reload()
    })
  })

  // Files and documents of the API are requested with the credential too; a browser would follow the link without it.
  document.addEventListener('click', async (event) => {
    const link = event.target.closest && event.target.closest('a[href]')
    if (!link || !read() || event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey || link.origin !== location.origin) return
    if (!link.hasAttribute('download') && /^[/](explore|docs)?([/]|$)/.test(link.pathname)) return
    event.preventDefault()
    const response = await fetch(link.href)
    if (!response.ok) return alert(await detailOf(response))
    const type = (response.headers.get('Content-Type') || '').startsWith('text/csv') ? 'text/csv' : 'application/json'
    const url = URL.createObjectURL(new Blob([await response.arrayBuffer()], { type }))
    if (!link.hasAttribute('download')) return location.assign(url)
    Object.assign(document.createElement('a'), { href: url, download: link.pathname.split('/').pop() }).click()
    setTimeout(() => URL.revokeObjectURL(url), 60000)
  })
})()
`
