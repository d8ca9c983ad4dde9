/** The script of the pages. Its forms send JSON like any client. Numbers keep their digits, because typed text becomes JSON text directly. */
export const SCRIPT = String.raw`'use strict'
;(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)]
  const status = document.getElementById('status')
  const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/

  const say = (words) => {
    status.textContent = words
    setTimeout(() => { if (status.textContent === words) status.textContent = '' }, 4000)
  }
  // A form stays busy until the next page has loaded.
  let left
  const leave = (words, url) => {
    left = true
    try { sessionStorage.setItem('explore-said', words) } catch { /* storage is blocked: the next page shows no message */ }
    if (url) location.assign(url)
    else location.reload()
  }

  const nullOf = (form, { name }) => form.querySelector('[data-null="' + name + '"]') || {}
  const isChanged = (control, asNull) => control.value !== control.first || asNull.checked !== asNull.first

  // Values of date and time inputs have no time zone, and no seconds if they are zero.
  const exactly = ({ type, value, dataset }) => value && /^(date)?time/.test(type) ? value.replace(/(^|T)\d\d:\d\d$/, '$&:00') + (dataset.zone || '') : value

  // The JSON text of a control's value; undefined if the body omits it.
  const encode = (control, method, asNull) => {
    const { kind, json, canBeEmpty } = control.dataset
    const value = exactly(control)
    const changed = isChanged(control, asNull)
    if (method === 'PATCH' && !changed) return undefined
    if (method === 'PUT' && !changed && json !== undefined) return json
    if (asNull.checked) return 'null'
    if (value === '' && method !== 'PATCH' && (canBeEmpty === undefined || !control.touched)) return undefined
    if (kind === 'number' && NUMBER.test(value.trim())) return value.trim()
    if (kind === 'boolean' && value !== '') return value
    if (kind !== 'json') return JSON.stringify(value)
    try {
      JSON.parse(value)
      return value.trim()
    } catch (error) {
      throw Object.assign(new Error('This is not valid JSON: ' + error.message), { control })
    }
  }

  const bodyOf = (form) => {
    const { runs, method } = form.dataset
    const raw = form.querySelector('[data-body]')
    if (raw) return raw.value
    const controls = all('[data-kind]', form)
    if (method === 'DELETE' && !controls.length) return undefined
    const members = controls.flatMap((control) => {
      const asNull = nullOf(form, control)
      // An empty field leaves the records as they are, even if something was typed and deleted.
      const isLeftOut = form.boxes && control.value === '' && !asNull.checked
      const text = isLeftOut ? undefined : encode(control, runs || form.boxes ? 'POST' : method, asNull)
      return text === undefined ? [] : [JSON.stringify(control.name) + ': ' + text]
    })
    return '{' + members.join(', ') + '}'
  }

  // The request of a form. A bulk form has the checkboxes of its records in form.boxes, with their keys and names.
  const requestOf = (form) => {
    const { method, path } = form.dataset
    const body = bodyOf(form)
    if (!form.boxes) return { path, body }
    if (method === 'DELETE') return { path: path + '?ids=' + form.boxes.map(({ dataset }) => encodeURIComponent(dataset.id)) }
    return { path, body: body === '{}' ? body : '[' + form.boxes.map(({ dataset }) => dataset.key.slice(0, -1) + ', ' + body.slice(1)).join(', ') + ']' }
  }

  const quote = (text) => "'" + text.replaceAll("'", "'\\''") + "'"
  // A retry of the same body reuses the key until a response arrives.
  const keyOf = (form, body) => {
    if (form.keyed !== body) {
      form.keyed = body
      const bytes = [...crypto.getRandomValues(new Uint8Array(16))]
      form.key = bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('')
    }
    return form.key
  }
  const headersOf = (form, body) => ({
    ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    ...(form.dataset.version === undefined ? {} : { 'If-Match': form.dataset.version }),
    ...('keyed' in form.dataset ? { 'Idempotency-Key': keyOf(form, body) } : {}),
  })
  const curlOf = (form) => {
    try {
      const { path, body } = requestOf(form)
      const lines = ['curl -X ' + form.dataset.method + ' ' + quote(location.origin + path)]
      for (const [name, value] of Object.entries(headersOf(form, body))) lines.push('  -H ' + quote(name + ': ' + value))
      if (body !== undefined) lines.push('  -d ' + quote(body))
      const { credential } = document.documentElement.dataset
      if (credential) lines.push('  ' + credential)
      return lines.join(' \\\n')
    } catch (error) {
      return error.message
    }
  }

  const clear = (form) => {
    for (const control of all('[aria-invalid]', form)) control.removeAttribute('aria-invalid')
    for (const error of all('.error', form)) error.textContent = ''
    form.querySelector('.alert').hidden = true
  }
  const mark = (control, message) => {
    control.setAttribute('aria-invalid', 'true')
    document.getElementById(control.id + '-error').textContent = message
  }
  const showAlert = (form, words, good) => {
    const alert = form.querySelector('.alert')
    alert.classList.toggle('good', good === true)
    alert.hidden = false
    alert.textContent = words
    alert.scrollIntoView({ block: 'nearest' })
  }

  const showRejection = (form, response, text) => {
    let problem = {}
    try { problem = JSON.parse(text) ?? {} } catch { /* not JSON, such as the page of a proxy: shown as it is */ }
    const errors = new Map(Object.entries(problem.errors || {}))
    const wrong = all('[data-kind]', form).filter((control) => errors.has(control.name))
    for (const control of wrong) {
      mark(control, String(errors.get(control.name)))
      errors.delete(control.name)
    }
    const count = wrong.length === 1 ? '1 field to correct' : wrong.length + ' fields to correct'
    const { boxes = [] } = form
    const nameOf = (place) => { const box = boxes[parseInt(place)]; return box ? box.dataset.name : place }
    const others = [...errors].map(([place, message]) => nameOf(place) + ': ' + message)
    const lines = [response.status + ' ' + (problem.title || response.statusText)]
    if (errors.size === 0 && wrong.length > 0) lines.push(count)
    // The lines of the records say it all.
    else if (errors.size === 0 || boxes.length === 0) lines.push(problem.detail || problem.error || text.slice(0, 500))
    showAlert(form, [...lines, ...new Set(others)].join('\n'))
    if (!wrong[0]) return
    wrong[0].focus()
    // With its label, and the message below.
    wrong[0].closest('.field').scrollIntoView({ block: 'center' })
  }

  const finish = async (form, response) => {
    const { method, next, runs, result } = form.dataset
    const location = response.headers.get('Location')
    if (result !== undefined || form.querySelector('[data-body]')) {
      const text = await response.text()
      form.closest('dialog').changed = true
      return showAlert(form, response.status + ' ' + response.statusText + (text && '\n' + text), true)
    }
    if (runs) return leave(runs + ': done')
    if (form.boxes) return leave(form.boxes.length + (form.boxes.length === 1 ? ' record' : ' records') + (method === 'DELETE' ? ' deleted' : ' changed'))
    const words = { POST: 'Created', DELETE: 'Deleted' }[method] || 'Saved'
    // A URL may begin with a path of a proxy.
    const start = location && !location.startsWith('/') ? location.lastIndexOf(form.dataset.path, location.length - form.dataset.path.length - 1) : 0
    leave(words, next || (location && start >= 0 ? '/explore' + location.slice(start) : ''))
  }

  // The script of record pages handles this event: it shows the changes that somebody else made.
  const compare = async (form) => {
    const detail = { all, showAlert, isChanged, nullOf }
    form.dispatchEvent(new CustomEvent('conflict', { detail }))
    await detail.done
  }

  const setBusy = (form, busy) => {
    form.busy = busy
    const button = form.querySelector('footer button:last-child')
    if (busy) button.words = button.textContent
    button.disabled = form.querySelector('[data-close]').disabled = busy
    button.textContent = busy ? form.dataset.runs ? 'Running…' : { POST: 'Creating…', DELETE: 'Deleting…' }[form.dataset.method] || 'Saving…' : button.words
  }
  const send = async (form) => {
    if (form.busy) return
    clear(form)
    const { runs, method } = form.dataset
    try {
      const { path, body } = requestOf(form)
      if (method === 'PATCH' && !runs && body === '{}') return showAlert(form, 'Nothing was changed.')
      setBusy(form, true)
      const response = await fetch(path, { method, headers: headersOf(form, body), body })
      form.keyed = undefined
      if (response.ok) await finish(form, response)
      else if (response.status === 412 && form.dataset.version !== undefined) await compare(form)
      else showRejection(form, response, await response.text())
    } catch (error) {
      if (!error.control) return showAlert(form, 'No response: ' + error.message)
      mark(error.control, error.message)
      error.control.focus()
    } finally {
      if (form.busy && !left) setBusy(form, false)
    }
  }
  // Resets a form to the values of the page, at first and after Cancel.
  const begin = (form) => {
    form.reset()
    form.keyed = undefined
    clear(form)
    for (const box of all('[data-null]', form)) box.first = box.checked
    for (const control of all('[data-kind]', form)) {
      control.first = control.value
      control.touched = false
    }
  }

  for (const form of all('form[data-method]')) {
    const preview = form.querySelector('[data-curl]')
    const update = () => { if (preview.parentElement.open) preview.textContent = curlOf(form) }
    begin(form)
    form.addEventListener('input', ({ target }) => {
      if ('kind' in target.dataset) {
        target.touched = true
        nullOf(form, target).checked = false
      }
      update()
    })
    preview.parentElement.addEventListener('toggle', update)
    form.addEventListener('submit', (event) => {
      event.preventDefault()
      send(form)
    })
    form.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.requestSubmit()
      if (event.key === 'Escape' && form.busy) event.preventDefault()
    })
  }

  for (const dialog of all('dialog')) {
    const form = dialog.querySelector('form[data-method]')
    dialog.addEventListener('cancel', (event) => { if (form && form.busy) event.preventDefault() })
    dialog.addEventListener('close', () => {
      if (dialog.changed) location.reload()
      else if (form) begin(form)
    })
    dialog.querySelector('[data-close]').addEventListener('click', () => dialog.close())
  }
  for (const button of all('[data-open]')) {
    button.addEventListener('click', () => {
      const dialog = document.getElementById(button.dataset.open)
      dialog.showModal()
      const first = '[data-kind], [data-body], [autofocus], [data-runs]:not([data-method=DELETE]) .primary'
      ;(dialog.querySelector(first) || dialog.querySelector('[data-close]')).focus()
    })
  }

  // A URL can open a form: /explore/books/#create.
  const named = all('[data-open]').find(({ dataset }) => '#' + dataset.open === location.hash)
  if (named) {
    history.replaceState(null, '', location.pathname + location.search)
    named.click()
  }

  for (const button of all('[data-copy]')) {
    if (!navigator.clipboard) button.remove()
    else button.addEventListener('click', () => navigator.clipboard.writeText(button.dataset.copy).then(() => say('Copied'), () => say('The browser does not allow copying')))
  }

  for (const form of all('form.query')) {
    form.addEventListener('submit', () => {
      for (const control of all('input, select', form)) control.disabled = control.value === ''
    })
    addEventListener('pageshow', () => { for (const control of all('input, select', form)) control.disabled = false })
  }

  // On small screens, the resources are one line that scrolls.
  const current = document.querySelector('body > nav [aria-current]')
  if (current) current.closest('nav').scrollLeft = current.offsetLeft - 40

  // Buttons are shown once every script of the page has run: a click before would be lost.
  document.addEventListener('DOMContentLoaded', () => document.documentElement.classList.add('with-js'))
  try {
    const said = sessionStorage.getItem('explore-said')
    // The script of sign-in hides a page that it replaces by the caller's.
    if (said && !document.documentElement.hidden) {
      sessionStorage.removeItem('explore-said')
      say(said)
    }
  } catch {
    // Storage is blocked.
  }
})()
`
