// The address of each view: a fragment that may be shared.
//
//   #                                     the list
//   #?show=none&namespace=shop&text=web   the list, filtered
//   #shop/web                             a Service, next to the list
//   #/changes?from=…&to=…                 what happened

import { SHOWS, SORTS } from "./model.js";

const DEFAULTS = { namespace: "", text: "", code: "", show: "all", sort: "attention", from: "", to: "" };
const CHANGES = "/changes";

/** The view that a fragment names. A token in it is not part of the view. */
export function parse(fragment) {
  const [path, query = ""] = fragment.replace(/^#/, "").split("?", 2);
  const view = { ...DEFAULTS, page: "services", service: null };
  for (const [name, value] of new URLSearchParams(query)) if (name in DEFAULTS) view[name] = value;
  if (!Object.hasOwn(SHOWS, view.show)) view.show = DEFAULTS.show;
  if (!Object.hasOwn(SORTS, view.sort)) view.sort = DEFAULTS.sort;
  if (path === CHANGES) view.page = "changes";
  const parts = path.split("/").map(decoded);
  if (view.page === "services" && parts.length === 2 && parts.every(isName)) {
    view.service = { namespace: parts[0], name: parts[1] };
  }
  return view;
}

/** The fragment of a view, without what is the default. */
export function format(view) {
  const { service, page } = view;
  const path = page === "changes" ? CHANGES : service === null ? "" :
    `${encodeURIComponent(service.namespace)}/${encodeURIComponent(service.name)}`;
  const query = new URLSearchParams(Object.keys(DEFAULTS).filter((name) => view[name] !== DEFAULTS[name])
    .map((name) => [name, view[name]]));
  return `#${path}${query.size > 0 ? `?${query}` : ""}`;
}

/** False for what a browser would take out of the path of a request. No Service has such a name. */
const isName = (part) => !["", ".", ".."].includes(part);

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Takes the token out of a fragment: `{ token, fragment }`; the token is null if there is none. */
export function withoutToken(fragment) {
  const found = /[&?#]?token=([^&]+)$/.exec(fragment);
  if (found === null) return { token: null, fragment };
  return { token: decoded(found[1]), fragment: fragment.slice(0, found.index) };
}
