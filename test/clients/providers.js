// The data providers as their packages export them, made into one file by test/support/providers.ts.
export { default as nestjsxCrud } from '@refinedev/nestjsx-crud'
export { createSimpleRestDataProvider } from '@refinedev/rest/simple-rest'
export { default as refineSimpleRest } from '@refinedev/simple-rest'
export { default as djangoRest } from 'ra-data-django-rest-framework'
export { default as jsonServer } from 'ra-data-json-server'
export { default as simpleRest } from 'ra-data-simple-rest'
