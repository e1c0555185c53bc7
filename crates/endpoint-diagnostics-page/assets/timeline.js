// What happened, as a list of entries.

import { count, element } from "./dom.js";
import { keyOf } from "./model.js";
import { clock, date, duration, present } from "./time.js";

const KINDS = { pod: "pod", service: "Service", slice: "slice", endpoints: "Endpoints", node: "node", report: "", watch: "" };
/** Entries that are shown before the user asks for all. */
const FIRST = 60;

/** A list of entries, the newest first. `isAll` names the Service of each. */
export function timeline(entries, { isAll = false, now = present() } = {}) {
  if (entries.length === 0) return element("p", { class: "soft" }, "Nothing has changed.");
  const list = element("ol", { class: "timeline" });
  const add = (from, to) => {
    let before = entries[from - 1] ?? null;
    for (const entry of entries.slice(from, to)) {
      list.append(item(entry, before, isAll, now));
      before = entry;
    }
  };
  add(0, FIRST);
  if (entries.length <= FIRST) return list;
  const more = element("button", { type: "button" }, `Show all ${entries.length}`);
  more.addEventListener("click", () => {
    more.remove();
    add(FIRST, entries.length);
  });
  return element("div", {}, list, more);
}

function item(entry, before, isAll, now) {
  const day = date(entry.time);
  const isNew = before === null ? day !== date(now) : day !== date(before.time);
  const isSame = before !== null && !isNew && clock(entry.time) === clock(before.time);
  const text = [KINDS[entry.kind] && element("span", { class: "kind" }, KINDS[entry.kind]), " ",
    entry.kind === "report" ? "the Service" : element("b", {}, entry.object), ` ${entry.text}`];
  const notes = [entry.by && `by ${entry.by}`, entry.took !== undefined && `${duration(entry.took)} after the change`,
    entry.sequence === 0 && "recorded by the object"].filter(Boolean);
  return element("li", { "data-tone": entry.tone, "data-kind": entry.kind },
    isNew ? element("span", { class: "day" }, day) : null,
    element("time", { datetime: new Date(entry.time).toISOString(), class: isSame ? "same" : "" }, clock(entry.time)),
    element("span", { class: "what" },
      isAll && entry.service !== null
        ? [element("a", { href: `#${keyOf(...entry.service)}` }, entry.service.join("/")), " "] : null,
      text, notes.length > 0 ? element("span", { class: "notes" }, ` ${notes.join(", ")}`) : null));
}

/** How many things happened, by their meaning. */
export function totals(entries) {
  const bad = entries.filter((entry) => entry.tone === "bad").length;
  return `${count(entries.length, "change")}, ${bad} of them for the worse`;
}
