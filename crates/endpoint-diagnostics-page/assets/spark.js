// Small charts as paths.

/** The seconds that a trend covers. */
const SPAN = 15 * 60;

/** A trend, `[[second, ready, all], …]`, as steps over the last quarter of an hour. */
export function sparkline(trend, now, width, height) {
  if (trend.length === 0) return { line: "", area: "" };
  const most = Math.max(1, ...trend.map(([, , all]) => all));
  const x = (second) => (width * Math.max(0, Math.min(1, 1 - (now - second) / SPAN))).toFixed(1);
  const y = (ready) => (height - 2 - ((height - 4) * ready) / most).toFixed(1);
  const start = x(trend[0][0]);
  let line = `M${start},${y(trend[0][1])}`;
  for (const [second, ready] of trend.slice(1)) line += `H${x(second)}V${y(ready)}`;
  line += `H${width}`;
  return { line, area: `${line}V${height}H${start}Z` };
}

/** Counts, the newest last, as bars: one path. */
export function bars(counts, slots, width, height) {
  const most = Math.max(1, ...counts);
  const step = width / slots;
  return counts.map((count, index) => {
    if (count === 0) return "";
    const x = width - (counts.length - index) * step;
    const tall = Math.max(1.5, ((height - 1) * count) / most);
    return `M${x.toFixed(1)},${height}v-${tall.toFixed(1)}h${Math.max(1, step - 1).toFixed(1)}v${tall.toFixed(1)}z`;
  }).join("");
}

/** Times in buckets between two times. */
export function buckets(times, from, to, slots) {
  const counts = new Array(slots).fill(0);
  const width = Math.max(1, to - from);
  for (const time of times) {
    const slot = Math.floor(((time - from) / width) * slots);
    if (slot >= 0 && slot < slots) counts[slot] += 1;
  }
  return counts;
}
