/** So many of the values, all equally likely, the same for the same seed. */
export function draw(values, count, seed) {
  const random = mulberry32(seed)
  const left = [...values]
  for (let at = 0; at < Math.min(count, left.length); at++) {
    const other = at + Math.floor(random() * (left.length - at))
    ;[left[at], left[other]] = [left[other], left[at]]
  }
  return left.slice(0, count)
}

function mulberry32(seed) {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
