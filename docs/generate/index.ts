export { writeLlms } from './llms.js'
export { writeSections } from './sections.js'
