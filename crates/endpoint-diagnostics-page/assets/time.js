// Times as texts, and back. All are milliseconds since the epoch, shown in the time zone of the browser.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

let skew = 0;

/** The present, by the clock of the program: that of the browser may be minutes off. */
export const present = () => Date.now() + skew;

/** Sets the clock by the `Date` of an answer, which has whole seconds. */
export function setPresent(date) {
  const found = Date.parse(date) + SECOND / 2 - Date.now();
  skew = Math.abs(found) > 2 * SECOND ? found : 0;
}

const two = (number) => `${number}`.padStart(2, "0");

/** 14:03:07 */
export function clock(time) {
  const at = new Date(time);
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** 2026-11-27 */
export function date(time) {
  const at = new Date(time);
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

/** 3 s, 12 min, 5 h, 9 d; empty for a time that is none. */
export function age(time, now) {
  if (!time) return "";
  const span = Math.max(0, now - time);
  if (span < MINUTE) return `${Math.floor(span / SECOND)} s`;
  if (span < HOUR) return `${Math.floor(span / MINUTE)} min`;
  if (span < 2 * DAY) return `${Math.floor(span / HOUR)} h`;
  return `${Math.floor(span / DAY)} d`;
}

/** 34 ms, 1.2 s, 3 min */
export function duration(span) {
  if (span < SECOND) return `${span} ms`;
  if (span < 10 * SECOND) return `${(span / SECOND).toFixed(1)} s`;
  return age(1, span + 1);
}

/** The span that a text like 14:03, 14:03:20 or 2026-11-27 14:03 means: the latest such moment; null if it means none. */
export function span(text, now) {
  const found = /^(?:(\d{4})-(\d\d)-(\d\d)[ T])?([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?$/.exec(text.trim());
  if (found === null) return null;
  const [, year, month, day, hours, minutes, seconds] = found;
  const at = new Date(now);
  if (year !== undefined) at.setFullYear(+year, +month - 1, +day);
  // A 31st of February is no other day.
  if (year !== undefined && (at.getMonth() !== +month - 1 || at.getDate() !== +day)) return null;
  at.setHours(+hours, +minutes, +(seconds ?? 0), 0);
  if (year === undefined && at.getTime() > now) at.setDate(at.getDate() - 1);
  const from = at.getTime();
  return seconds === undefined ? { from, to: from + MINUTE - 1 } : { from: from - 10 * SECOND, to: from + 10 * SECOND };
}
