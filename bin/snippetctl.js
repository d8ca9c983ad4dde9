#!/usr/bin/env node
// Written in the oldest JavaScript there is, so that an old Node can read it and say what it lacks.
var version = process.versions.node.split('.')
if (Number(version[0]) < 20 || (Number(version[0]) === 20 && Number(version[1]) < 19)) {
  console.error('snippetctl needs Node 20.19 or newer, and this is Node ' + process.versions.node + '.')
  process.exit(2)
}
import('./start.mjs')
