// Connects the parts of the page: feed ──> rows ──> view of the address ──> overview, list, Service, changes.

import { setToken } from "./api.js";
import { Changes } from "./changes.js";
import { Detail } from "./detail.js";
import { Announcer, byId, copyButton, count, element, setText } from "./dom.js";
import { Feed } from "./feed.js";
import { Finder } from "./find.js";
import { ServiceList } from "./list.js";
import { SHOWS, SORTS, STATES, banner, expected, keyOf, prepared, select, sums } from "./model.js";
import { showOverview } from "./overview.js";
import { format, parse } from "./route.js";
import "./theme.js";

const CONNECTIONS = {
  live: "Live",
  lost: "Connection to the program lost, trying again",
  full: "Too many pages follow the changes, trying again",
  refused: "Not allowed without a valid token",
  connecting: "Connecting",
};
/** The least time between two sums over all rows. */
const PAUSE = 250;

const rows = new Map();
let view = parse(location.hash);
let overview = { disruptions: [], zones: [], writes: { counts: [] }, leaders: [], watched: 0 };
let source = { state: "live", message: "" };
let connection = "connecting";
let frame = null;
let summed = null;
let namespaces = "";

const announcer = new Announcer(byId("announcer"));
const detail = new Detail(byId("detail-title"), byId("report"));
const list = new ServiceList(byId("services"), byId("rows"), open);
const changes = new Changes((change) => go({ ...change, page: "changes", service: null }));
const finder = new Finder(update);

// ---- rows ----

function put(row, arrived) {
  prepared(row).arrived = arrived;
  rows.set(row.key, row);
}

function replace({ services, now }) {
  rows.clear();
  for (const row of services) put(row, -Infinity);
  list.now = changes.now = finder.now = source.state === "fixed" ? now : null;
  update();
  finder.refresh();
  detail.refresh();
  if (view.page === "changes") changes.show(view);
}

function change({ services, removed }) {
  const now = performance.now();
  for (const row of services) {
    const before = rows.get(keyOf(row.namespace, row.name));
    put(row, now);
    if (row.key !== (detail.key ?? list.active)) continue;
    if (before?.state !== row.state || before.traffic.ready !== row.traffic.ready) {
      announcer.say("service", `${row.namespace}/${row.name}: ${STATES[row.state].word}, ${row.traffic.ready} of ${expected(row)} ready`);
    }
  }
  for (const [namespace, name] of removed) rows.delete(keyOf(namespace, name));
  // A page that is not seen has no frames, and a title.
  if (document.hidden) update();
  else frame ??= requestAnimationFrame(update);
  const touched = [...services.map((row) => row.key), ...removed.map(([namespace, name]) => keyOf(namespace, name))];
  if (detail.key !== null && touched.includes(detail.key)) detail.refresh();
  changes.refresh();
  finder.refresh();
}

/** Shows the rows of the view. */
function update() {
  if (frame !== null) cancelAnimationFrame(frame);
  frame = null;
  const { shown, counts } = select(rows.values(), view, finder.found);
  list.show(shown);
  for (const node of document.querySelectorAll("[data-count]")) setText(node, counts[node.dataset.count].toLocaleString("en"));
  byId("nothing").hidden = shown.length > 0;
  byId("code").hidden = view.code === "";
  setText(byId("code-word"), view.code);
  document.title = `${counts.attention > 0 ? `${counts.attention} need attention – ` : ""}Endpoints of Services`;
  summed ??= setTimeout(sum, summed === null && overviewIsEmpty() ? 0 : PAUSE);
  return shown.length;
}

const overviewIsEmpty = () => byId("overview").childElementCount === 0;

/** Shows sums over all rows. */
function sum() {
  summed = null;
  showNamespaces();
  const all = sums(rows.values());
  const lines = banner(overview, all.kept);
  byId("banner").hidden = lines.length === 0;
  byId("banner-lines").replaceChildren(...lines.map((line) => element("li", {}, line)));
  if (lines.length > 0) announcer.say("banner", lines.join(", "));
  const active = document.activeElement;
  const place = byId("overview").contains(active) ? active.textContent : null;
  showOverview(byId("overview"), all, overview, (filter) => go({ code: "", ...filter }));
  if (place !== null) [...byId("overview").querySelectorAll("button")].find((it) => it.textContent === place)?.focus();
}

function showNamespaces() {
  const counts = new Map();
  for (const { namespace } of rows.values()) counts.set(namespace, (counts.get(namespace) ?? 0) + 1);
  if (view.namespace !== "" && !counts.has(view.namespace)) counts.set(view.namespace, 0);
  const found = [...counts].sort();
  const text = JSON.stringify(found);
  if (text === namespaces) return;
  namespaces = text;
  for (const node of document.querySelectorAll(".namespaces")) {
    node.replaceChildren(element("option", { value: "" }, `All namespaces (${found.length})`),
      ...found.map(([name, services]) => element("option", { value: name }, `${name} (${services})`)));
    node.value = view.namespace;
  }
}

// ---- the address ----

/** Changes the address, and shows what it says. */
function go(changed, { replace: replaces = false } = {}) {
  const next = { ...view, ...changed };
  const address = format(next);
  if (address !== location.hash && `${address}` !== (location.hash || "#")) {
    history[replaces ? "replaceState" : "pushState"](null, "", address === "#" ? location.pathname : address);
  }
  route();
}

function open(key) {
  const [namespace, name] = key.split("/").map(decodeURIComponent);
  go({ page: "services", service: { namespace, name } });
  byId("detail-title").focus({ preventScroll: true });
}

function close() {
  if (view.service === null) return;
  go({ service: null });
  list.focus();
}

/** Shows what the address says. */
function route() {
  view = parse(location.hash);
  const { page, service } = view;
  document.body.dataset.page = page;
  document.body.classList.toggle("open", service !== null);
  byId("list-page").hidden = page !== "services";
  byId("changes-page").hidden = page !== "changes";
  byId("detail").hidden = service === null;
  for (const link of document.querySelectorAll("nav a")) {
    link.href = format({ ...view, page: link.dataset.page, service: null });
    if (link.dataset.page === page) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (byId("words") !== document.activeElement || byId("words").value.trim() !== view.text) byId("words").value = view.text;
  for (const node of document.querySelectorAll(".namespaces")) node.value = view.namespace;
  byId("sort").value = view.sort;
  document.querySelector(`input[name=show][value=${view.show}]`).checked = true;
  finder.look(view.text);
  // What is looked for is more important than the whole.
  byId("overview").hidden = view.text !== "";
  update();
  if (page === "changes") changes.show(view);
  else changes.hide();
  if (service === null) return detail.close();
  const key = keyOf(service.namespace, service.name);
  // The rows may have come after the address.
  if (list.active !== key) list.activate(key);
  if (key === detail.key) return;
  byId("detail").scrollTop = 0;
  detail.open(service.namespace, service.name);
}

window.addEventListener("popstate", route);
window.addEventListener("hashchange", route);

// ---- filter ----

byId("shows").append(...Object.entries(SHOWS).map(([name, { word }]) => element("label", {},
  element("input", { type: "radio", name: "show", value: name }), element("span", {}, word, " ", element("b", { "data-count": name }, "0")))));
byId("sort").append(...Object.entries(SORTS).map(([name, { word }]) => element("option", { value: name }, word)));

function filtered(changed, options) {
  go(changed, options);
  announcer.say("filter", count(byId("services").getAttribute("aria-rowcount") - 1, "Service"));
}

byId("words").addEventListener("input", (event) => filtered({ text: event.target.value.trim(), page: "services" }, { replace: true }));
byId("shows").addEventListener("change", (event) => filtered({ show: event.target.value }));
byId("sort").addEventListener("change", (event) => filtered({ sort: event.target.value }));
byId("code").addEventListener("click", () => filtered({ code: "" }));
for (const node of document.querySelectorAll(".namespaces")) {
  node.addEventListener("change", (event) => filtered({ namespace: event.target.value }));
}
for (const form of document.querySelectorAll("#search, #filters")) form.addEventListener("submit", (event) => event.preventDefault());
/** Opens what was looked for, once it is found. */
async function enter(text) {
  await finder.settled;
  if (byId("words").value !== text) return;
  const link = byId("matches").querySelector("a");
  if (link !== null) link.click();
  else if (list.first !== null && text !== "") open(list.first);
  else list.focus();
}

byId("words").addEventListener("keydown", (event) => {
  if (event.key === "Enter") enter(event.target.value);
  else if (event.key === "ArrowDown") list.focus();
  else if (event.key === "Escape" && event.target.value !== "") {
    event.target.value = "";
    filtered({ text: "" }, { replace: true });
  } else if (event.key === "Escape") list.focus();
  else return;
  event.preventDefault();
  event.stopPropagation();
});

byId("close").addEventListener("click", close);
byId("detail-actions").prepend(copyButton("Copy the link", () => location.href));
document.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  const isTyping = event.target.matches?.("input, select, textarea");
  if (event.key === "Escape") close();
  else if (event.key === "/" && !isTyping) byId("words").focus();
  else return;
  event.preventDefault();
});

// ---- connection ----

function showConnection() {
  const node = byId("connection");
  const state = connection === "live" ? source.state : connection;
  const text = connection === "live" && source.state !== "live" ? source.message : CONNECTIONS[connection];
  if (node.dataset.state !== "connecting" && node.dataset.state !== state) announcer.say("connection", text);
  node.dataset.state = state;
  setText(node.lastElementChild, text);
  byId("sign-in").hidden = connection !== "refused";
}

byId("sign-in").addEventListener("submit", (event) => {
  event.preventDefault();
  setToken(byId("token").value.trim());
  byId("token").value = "";
  location.reload();
});

route();
new Feed({
  replace(services) {
    source = services.source;
    replace(services);
    route();
  },
  change,
  overview(now) {
    overview = now;
    summed ??= setTimeout(sum, PAUSE);
  },
  source(now) {
    source = now;
    detail.flags = now.flags;
    setText(byId("origin"), now.name);
    showConnection();
  },
  connection(now) {
    if (connection === "lost" && now === "live") detail.refresh();
    connection = now;
    showConnection();
  },
});
