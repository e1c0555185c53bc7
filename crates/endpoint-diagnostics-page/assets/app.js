// Connects the parts of the page: feed ──> rows ──> filter ──> list; list and address ──> detail.

import { Announcer, VERDICTS, byId, keyOf, setText } from "./dom.js";
import { Detail } from "./detail.js";
import { Feed } from "./feed.js";
import { ServiceList } from "./list.js";

const CONNECTIONS = {
  live: "Live",
  lost: "Connection to the program lost, trying again",
  refused: "Open the address that the program printed: it has a token",
  connecting: "Connecting",
};

const rows = new Map();
let sorted = null;
let words = [];
let show = "all";
let frame = null;
let source = { state: "live", message: "" };
let connection = "connecting";

const announcer = new Announcer(byId("announcer"));
const detail = new Detail(byId("detail-title"), byId("report"));
const list = new ServiceList(byId("services"), byId("rows"), open);

// ---- rows ----

const isUnready = (row) => row.readyEndpoints === 0;
const SHOWS = {
  all: () => true,
  wrong: (row) => row.verdict === "wrong",
  lagging: (row) => row.verdict === "lagging",
  unknown: (row) => row.verdict === "unknown",
  ok: (row) => row.verdict === "ok",
  unready: isUnready,
};

function put(row, changed) {
  row.key = keyOf(row.namespace, row.name);
  row.words = `${row.namespace}/${row.name}`.toLowerCase();
  row.changed = changed;
  if (!rows.has(row.key)) sorted = null;
  rows.set(row.key, row);
}

function replace({ services }) {
  rows.clear();
  sorted = null;
  for (const row of services) put(row, -Infinity);
  update();
  detail.refresh();
}

function change({ services, removed }) {
  const now = performance.now();
  for (const row of services) {
    const before = rows.get(keyOf(row.namespace, row.name));
    put(row, now);
    if (row.key !== (detail.key ?? list.active)) continue;
    if (before?.verdict !== row.verdict || before.counts.ready !== row.counts.ready) {
      const { pods, ready } = row.counts;
      announcer.say("service", `${row.namespace}/${row.name}: ${VERDICTS[row.verdict]}, ${ready} of ${pods} pods ready`);
    }
  }
  for (const [namespace, name] of removed) {
    if (rows.delete(keyOf(namespace, name))) sorted = null;
  }
  frame ??= requestAnimationFrame(update);
  const touched = [...services.map((row) => row.key), ...removed.map(([namespace, name]) => keyOf(namespace, name))];
  if (detail.key !== null && touched.includes(detail.key)) detail.refresh();
}

const before = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

/** Shows the rows that match the filter, and how many there are of each verdict. */
function update() {
  if (frame !== null) cancelAnimationFrame(frame);
  frame = null;
  sorted ??= [...rows.values()]
    .sort((a, b) => before(a.namespace, b.namespace) || before(a.name, b.name))
    .map((row) => row.key);
  const counts = Object.fromEntries(Object.keys(SHOWS).map((name) => [name, 0]));
  const shown = [];
  for (const key of sorted) {
    const row = rows.get(key);
    if (!words.every((word) => row.words.includes(word))) continue;
    counts.all += 1;
    counts[row.verdict] += 1;
    if (isUnready(row)) counts.unready += 1;
    if (SHOWS[show](row)) shown.push(row);
  }
  list.show(shown);
  for (const node of document.querySelectorAll("[data-count]")) setText(node, `${counts[node.dataset.count]}`);
  byId("nothing").hidden = shown.length > 0;
  document.title = counts.wrong > 0 ? `${counts.wrong} wrong – Endpoints of Services` : "Endpoints of Services";
  return shown.length;
}

// ---- filter ----

function filter() {
  words = byId("words").value.toLowerCase().split(/\s+/).filter((word) => word !== "");
  show = document.querySelector("input[name=show]:checked").value;
  const shown = update();
  announcer.say("filter", `${shown} ${shown === 1 ? "Service" : "Services"}`);
}

byId("filters").addEventListener("input", filter);
byId("filters").addEventListener("submit", (event) => event.preventDefault());
byId("words").addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown" || event.key === "Enter") list.focus();
  else if (event.key === "Escape" && event.target.value !== "") {
    event.target.value = "";
    filter();
  } else if (event.key === "Escape") list.focus();
  else return;
  event.preventDefault();
  event.stopPropagation();
});

// ---- detail, and its address ----

function open(key) {
  if (key !== detail.key) history.pushState(null, "", `#${key}`);
  route();
  byId("detail-title").focus({ preventScroll: true });
}

function close() {
  if (detail.key === null) return;
  history.pushState(null, "", location.pathname);
  route();
  list.focus();
}

/** Shows what the address says. */
function route() {
  const [namespace, name, ...rest] = location.hash.slice(1).split("/").map(decoded);
  const isOpen = Boolean(namespace && name) && rest.length === 0;
  byId("detail").hidden = !isOpen;
  document.querySelector("main").classList.toggle("open", isOpen);
  if (!isOpen) return detail.close();
  const key = keyOf(namespace, name);
  if (key === detail.key) return;
  list.activate(key);
  byId("detail").scrollTop = 0;
  detail.open(namespace, name);
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

byId("close").addEventListener("click", close);
window.addEventListener("popstate", route);
document.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  if (event.key === "Escape") close();
  else if (event.key === "/" && event.target !== byId("words")) byId("words").focus();
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
  setText(node, text);
}

new Feed({
  replace(services) {
    replace(services);
    if (detail.key === null) route();
  },
  change,
  source(now) {
    source = now;
    setText(byId("origin"), now.name);
    showConnection();
  },
  connection(now) {
    if (connection === "lost" && now === "live") detail.refresh();
    connection = now;
    showConnection();
  },
});
