// A list and forms of react-admin over its stock data provider: its core, with plain elements in place of a theme.
import { useState } from 'react'
import { createRoot } from 'react-dom/client'
import {
  CoreAdmin,
  CreateBase,
  EditBase,
  Form,
  ListBase,
  Resource,
  useCreatePath,
  useDelete,
  useInput,
  useListContext,
  useRecordContext,
  useRedirect,
  ValidationError,
} from 'ra-core'
import simpleRestProvider from 'ra-data-simple-rest'

const COLUMNS = ['id', 'title', 'pages']

function Table() {
  const { data = [], total, page, setPage, sort, setSort, setFilters } = useListContext()
  const createPath = useCreatePath()
  const order = (field) => ({ field, order: sort.field === field && sort.order === 'ASC' ? 'DESC' : 'ASC' })
  return (
    <main>
      <h1>Books</h1>
      <p>
        <a href="#/books/create">Create</a>{' '}
        <button onClick={() => setFilters({ status: 'draft' }, [], false)}>Drafts</button>{' '}
        <button onClick={() => setFilters({}, [], false)}>All</button>
      </p>
      <table>
        <thead>
          <tr>
            {COLUMNS.map((name) => (
              <th key={name}>
                <button onClick={() => setSort(order(name))}>{name}</button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {data.map((record) => (
            <tr key={record.id}>
              <td>
                <a href={`#${createPath({ resource: 'books', type: 'edit', id: record.id })}`}>{record.id}</a>
              </td>
              <td>{record.title}</td>
              <td>{record.pages}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p>
        <button onClick={() => setPage(page + 1)}>Next</button> <output>{`page ${page}, ${total} books`}</output>
      </p>
    </main>
  )
}

function Field({ source, type = 'text' }) {
  const { field, fieldState } = useInput({ source, type, parse: (text) => (type === 'number' ? Number(text) : text) })
  return (
    <p>
      <label>
        {source} <input {...field} type={type} />
      </label>{' '}
      <em role="alert">{fieldState.error && <ValidationError error={fieldState.error.message} />}</em>
    </p>
  )
}

function Remove() {
  const record = useRecordContext()
  const redirect = useRedirect()
  const [remove] = useDelete()
  const params = { id: record?.id, previousData: record }
  const done = { mutationMode: 'pessimistic', onSuccess: () => redirect('list', 'books') }
  return (
    <button type="button" onClick={() => remove('books', params, done)}>
      Delete
    </button>
  )
}

function Fields({ children }) {
  return (
    <Form>
      <Field source="title" />
      <Field source="pages" type="number" />
      <Field source="author" type="number" />
      <button type="submit">Save</button> {children}
    </Form>
  )
}

const List = () => (
  <ListBase sort={{ field: 'title', order: 'DESC' }}>
    <Table />
  </ListBase>
)

function Notified({ children }) {
  const [said, say] = useState('')
  return (
    <main>
      <h1>Book</h1>
      {children({ onError: (error) => say(error.message) })}
      <output>{said}</output>
    </main>
  )
}

const Edit = () => (
  <Notified>
    {(mutationOptions) => (
      <EditBase mutationMode="pessimistic" redirect="list" mutationOptions={mutationOptions}>
        <Fields>
          <Remove />
        </Fields>
      </EditBase>
    )}
  </Notified>
)

const Create = () => (
  <Notified>
    {(mutationOptions) => (
      <CreateBase redirect="list" mutationOptions={mutationOptions}>
        <Fields />
      </CreateBase>
    )}
  </Notified>
)

createRoot(document.body.appendChild(document.createElement('div'))).render(
  <CoreAdmin dataProvider={simpleRestProvider('/simple-rest')} disableTelemetry>
    <Resource name="books" list={List} edit={Edit} create={Create} />
  </CoreAdmin>,
)
