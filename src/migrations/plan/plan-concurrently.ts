import type { Plan } from './generate.js'
import { render } from '../files/render.js'
import { safe, type Step } from '../files/steps.js'

/** The same plan, with the indexes of existing tables built without blocking writes, in a file of their own. */
export function planConcurrently(plan: Plan): Plan {
  const steps = plan.steps.map(toOutside)
  const [outside, inside] = [steps.filter((step) => step.outside), steps.filter((step) => !step.outside)]
  if (plan.text === undefined || outside.length === 0) return { ...plan, steps }
  if (inside.length === 0) return { ...plan, steps, text: render(outside) }
  return { ...plan, steps, text: render(inside), outsideText: render(outside) }
}

function toOutside(step: Step): Step {
  if (step.change !== 'add' || !step.up.every((statement) => /^create (?:unique )?index /.test(statement))) return step
  const concurrently = (statement: string) =>
    statement.replace(/^(create (?:unique )?|drop )index /, '$1index concurrently ')
  return {
    ...step,
    ...(step.up.some((statement) => statement.startsWith('create unique ')) ? {} : safe),
    outside: true,
    risk: 'is built without blocking writes, outside of a transaction',
    up: step.up.map(concurrently),
    down: step.down.map(concurrently),
  }
}
