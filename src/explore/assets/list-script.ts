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
      const count = sheet.cssRules.length - first
      chooser.firstElementChild.textContent = count ? 'Columns (' + count + ' hidden)' : 'Columns'
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

  for (const button of all('[data-for]', bar)) button.addEventListener('click', () => {
    const dialog = one('#' + button.dataset.for)
    const form = one('form', dialog)
    form.boxes = chosen()
    one('h2', dialog).textContent = form.dataset.method === 'DELETE' ? 'Delete ' + name(form.boxes.length) + '?' : 'Edit ' + name(form.boxes.length)
    one('[data-names]', dialog).replaceChildren(...form.boxes.map((box) => make('li', { textContent: box.dataset.name, dir: 'auto' })))
    form.dispatchEvent(new Event('input'))
    dialog.showModal()
    ;(one('[data-kind]', dialog) || one('[data-close]', dialog)).focus()
  })
})()
`

/** The script of the keys of a list: arrows move between its rows, Enter opens a record, Delete asks about the selected records. */
export const LIST_KEYS_SCRIPT = String.raw`;(() => {
  const region = document.querySelector('.table[accesskey]')
  if (!region) return
  // The checkbox of a row, or the link to its record.
  const stops = [...region.querySelectorAll('[data-id], tr:not(:has([data-id])) > th:not(th ~ th) a')]
  region.addEventListener('keydown', (event) => {
    const { target, key } = event
    const at = stops.indexOf(target)
    if (at < 0 && target !== region) return
    const next = stops[at + { ArrowDown: 1, ArrowUp: -1 }[key]]
    if (next) {
      event.preventDefault()
      next.focus()
    }
    if (key === 'Enter' && target.dataset.id) target.closest('tr').querySelector('a').click()
    if (key === 'Delete') document.querySelector('[data-bulk]:not([hidden]) [data-for="bulk-delete"]:enabled')?.click()
  })
})()
`
