/** The script of record pages, which shows edit conflicts in forms. It runs after `script.ts`, which sends the forms. */
export const RECORD_SCRIPT = String.raw`'use strict'
;(() => {
  const textsOf = (root) => new Map([...root.querySelectorAll('dl.record dt')].map((name) => [name.textContent, name.nextElementSibling.textContent]))
  // Shows the fields that another user changed, and loads their new values into the inputs that this user left alone. The next submission sends the new version.
  const showConflict = async (form, { all, showAlert, isChanged, nullOf }) => {
    const page = new DOMParser().parseFromString(await (await fetch(location.href)).text(), 'text/html')
    form.parentElement.changed = true
    const now = page.querySelector('#' + form.parentElement.id + ' form')
    if (!now) return showAlert(form, 'This record has been deleted, or you may no longer change it.')
    form.dataset.version = now.dataset.version
    const mine = new Map()
    for (const control of all('[data-kind]', form)) {
      const [asNull, stored] = [nullOf(form, control), now.elements.namedItem(control.name)]
      const storedNull = nullOf(now, control)
      stored.first = stored.value
      if (isChanged(control, asNull)) mine.set(control.name, asNull.checked ? 'null' : control.value)
      else {
        asNull.checked = storedNull.checked
        // An input of another type cannot hold some values, such as line breaks or microseconds.
        if (control.type === stored.type) control.value = stored.value
        else control.replaceWith(stored)
      }
      control.first = stored.value
      asNull.first = storedNull.checked
      if (stored.dataset.json !== undefined) control.dataset.json = stored.dataset.json
    }
    const before = textsOf(document)
    const changed = [...textsOf(page)].filter(([name, text]) => before.get(name) !== text)
    const rows = changed.map(([name, text]) => [name, before.get(name), text].concat(mine.size ? [mine.has(name) ? mine.get(name) : text] : []))
    showAlert(form, 'Somebody else has changed this record.' + (rows.length ? '' : ' This page does not show the fields that changed.'))
    const table = document.createElement('table')
    const heads = ['Field', 'Before', 'Now'].concat(mine.size ? ['With your changes'] : [])
    for (const cells of rows.length ? [heads, ...rows] : []) {
      const row = table.insertRow()
      cells.forEach((text, index) => {
        const cell = document.createElement(cells === heads || index === 0 ? 'th' : 'td')
        cell.append(Object.assign(document.createElement('bdi'), { textContent: text === undefined ? '' : text }))
        row.append(cell)
      })
    }
    const reload = Object.assign(document.createElement('button'), { type: 'button', className: 'plain', textContent: 'Reload' })
    reload.addEventListener('click', () => location.reload())
    const alert = form.querySelector('.alert')
    alert.append(table, reload)
    alert.tabIndex = -1
    alert.focus()
    const button = form.querySelector('footer button:last-child')
    button.words = form.dataset.method === 'DELETE' ? 'Delete anyway' : 'Overwrite'
  }
  for (const form of document.querySelectorAll('form[data-version]')) {
    form.addEventListener('conflict', ({ target, detail }) => { detail.done = showConflict(target, detail) })
  }
})()
`
