/** The script of lists: columns that readers hide, and requests about several records. Without it, lists are read, filtered and paged all the same. */
export const LIST_SCRIPT = String.raw`;(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)]
  const one = (selector, root = document) => root.querySelector(selector)
  const make = (tag, properties) => Object.assign(document.createElement(tag), properties)

  // A menu closes when the reader turns to something else.
  for (const menu of all('details.menu')) {
    menu.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape') return
      menu.open = false
      menu.firstElementChild.focus()
    })
    document.addEventListener('pointerdown', (event) => {
      if (!menu.contains(event.target) && !one('[aria-invalid]', menu)) menu.open = false
    })
  }
  for (const select of all('[data-auto]')) {
    select.form.lastElementChild.hidden = true
    select.addEventListener('change', () => select.form.requestSubmit())
  }
  const wrong = one('.query [aria-invalid]')
  if (wrong) wrong.scrollIntoView({ block: 'center' })

  const table = one('[data-columns]')
  const chooser = one('[data-chooser]')
  if (chooser && !table) chooser.remove()
  if (chooser && table) {
    const key = 'explore-columns ' + table.dataset.columns
    const sheet = document.styleSheets[0]
    const first = sheet.cssRules.length
    let hidden = []
    try { hidden = JSON.parse(localStorage.getItem(key)) || [] } catch { /* a browser that keeps nothing shows all columns */ }
    const heads = all('thead > tr > *', table)
    const apply = () => {
      while (sheet.cssRules.length > first) sheet.deleteRule(first)
      heads.forEach((head, index) => {
        if (hidden.includes(head.textContent.trim())) sheet.insertRule('[data-columns] tr > :nth-child(' + (index + 1) + ') { display: none }', sheet.cssRules.length)
      })
      chooser.firstElementChild.textContent = hidden.length ? 'Columns (' + hidden.length + ' hidden)' : 'Columns'
    }
    const save = () => {
      try { localStorage.setItem(key, JSON.stringify(hidden)) } catch { /* as above */ }
      apply()
    }
    const panel = chooser.lastElementChild
    const fill = () => {
      const boxes = heads.filter((head) => head.tagName === 'TH').map((head) => {
        const name = head.textContent.trim()
        const box = make('input', { type: 'checkbox', checked: !hidden.includes(name) })
        box.addEventListener('change', () => {
          hidden = hidden.filter((each) => each !== name).concat(box.checked ? [] : [name])
          save()
        })
        const label = make('label')
        label.append(box, ' ' + name)
        panel.append(label)
        return box
      })
      const every = make('button', { type: 'button', className: 'small', textContent: 'Show all' })
      every.addEventListener('click', () => {
        for (const box of boxes) box.checked = true
        hidden = []
        save()
      })
      panel.append(every)
    }
    chooser.addEventListener('toggle', fill, { once: true })
    hidden = hidden.filter((name) => heads.some((head) => head.textContent.trim() === name))
    apply()
  }

  const bar = one('[data-bulk]')
  if (!bar) return
  const picks = all('[data-id]', table)
  const every = one('[data-all]', table)
  const chosen = () => picks.filter((box) => box.checked)
  const name = (count) => count + (count === 1 ? ' record' : ' records')
  const show = () => {
    const { length } = chosen()
    const most = Number(bar.dataset.max)
    bar.hidden = length === 0
    one('[data-count]', bar).textContent = name(length) + ' selected'
    one('.error', bar).textContent = length > most ? 'at most ' + most + ' at once' : ''
    for (const button of all('[data-for]', bar)) button.disabled = length > most
    every.checked = length === picks.length
    every.indeterminate = length > 0 && length < picks.length
    for (const box of picks) box.closest('tr').classList.toggle('picked', box.checked)
  }
  for (const box of picks) box.addEventListener('change', show)
  every.addEventListener('change', () => {
    for (const box of picks) box.checked = every.checked
    show()
  })
  one('[data-none]', bar).addEventListener('click', () => {
    for (const box of picks) box.checked = false
    show()
    every.focus()
  })
  // A browser that goes back restores the boxes.
  addEventListener('pageshow', show)

  const field = one('#bulk-field')
  const value = one('#bulk-value')
  const asNull = one('#bulk-null')
  const describe = () => {
    const { kind, hint, nullable } = field.selectedOptions[0].dataset
    one('#bulk-hint').textContent = kind === 'boolean' ? 'true, false' : hint
    asNull.parentElement.hidden = nullable === undefined
    if (nullable === undefined) asNull.checked = false
  }
  if (field) {
    field.addEventListener('change', describe)
    value.addEventListener('input', () => { asNull.checked = false })
    describe()
  }
  const valueText = () => {
    if (asNull.checked) return 'null'
    const { kind } = field.selectedOptions[0].dataset
    const text = value.value.trim()
    if (kind === 'json' || kind === 'boolean') JSON.parse(text)
    if (kind === 'number' && !/^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text)) return JSON.stringify(text)
    return kind === 'text' ? JSON.stringify(value.value) : text
  }

  for (const button of all('[data-for]', bar)) button.addEventListener('click', () => {
    const dialog = one('#' + button.dataset.for)
    const boxes = chosen()
    const isEdit = button.dataset.for === 'bulk-edit'
    one('h2', dialog).textContent = isEdit ? 'Edit ' + name(boxes.length) : 'Delete ' + name(boxes.length) + '?'
    one('[data-names]', dialog).replaceChildren(...boxes.map((box) => make('li', { textContent: box.dataset.name })))
    one('.alert', dialog).hidden = true
    dialog.showModal()
    one(isEdit ? '#bulk-field' : '[data-close]', dialog).focus()
  })
  for (const form of all('form[data-several]')) {
    const alert = one('.alert', form)
    const button = one('footer button:last-child', form)
    const fail = (words) => {
      alert.textContent = words
      alert.hidden = false
      alert.scrollIntoView({ block: 'nearest' })
    }
    form.addEventListener('submit', async (event) => {
      event.preventDefault()
      const { several: method, path } = form.dataset
      const boxes = chosen()
      try {
        button.disabled = true
        const isEdit = method === 'PATCH'
        const member = isEdit && ', ' + JSON.stringify(field.value) + ': ' + valueText() + '}'
        const url = isEdit ? path : path + '?ids=' + boxes.map((box) => encodeURIComponent(box.dataset.id)).join(',')
        const response = await fetch(url, isEdit
          ? { method, headers: { 'Content-Type': 'application/json' }, body: '[' + boxes.map((box) => box.dataset.key.slice(0, -1) + member).join(', ') + ']' }
          : { method })
        if (!response.ok) {
          const text = await response.text()
          let problem = {}
          try { problem = JSON.parse(text) } catch { /* an answer of a proxy, say */ }
          const places = Object.entries(problem.errors || {}).map(([at, message]) => {
            const box = boxes[parseInt(at, 10)]
            return (box ? box.dataset.name : at) + ': ' + message
          })
          const lines = places.length ? new Set(places) : [problem.detail || text.slice(0, 500)]
          return fail([response.status + ' ' + (problem.title || response.statusText), ...lines].join('\n'))
        }
        try { sessionStorage.setItem('explore-said', name(boxes.length) + (isEdit ? ' changed' : ' deleted')) } catch { /* then the next page says nothing */ }
        location.reload()
      } catch (error) {
        fail(error instanceof SyntaxError ? 'This is not valid JSON: ' + error.message : 'The server did not respond: ' + error.message)
      } finally {
        button.disabled = false
      }
    })
    one('[data-close]', form).addEventListener('click', () => form.parentElement.close())
  }
})()
`
