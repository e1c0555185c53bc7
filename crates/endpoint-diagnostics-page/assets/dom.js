// Elements and texts. Data of the cluster reaches the page as text nodes and attribute values only.

/** The words of the page for the values of the reports. */
export const VERDICTS = { ok: "as desired", lagging: "lagging", wrong: "wrong", unknown: "unknown" };
export const PRESENCES = {
  ready: "ready",
  serving: "serving, terminating",
  notReady: "not ready",
  absent: "absent",
  notApplicable: "not applicable",
};

/** The element with an id of index.html. */
export const byId = (id) => document.getElementById(id);

/** Makes an element with attributes, and children that are elements or texts. */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children.filter((child) => child !== null));
  return made;
}

/** Sets a text if it differs: an unchanged one costs no layout. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Shows a verdict by its word, and by the colour and the sign that style.css has for it. */
export function setVerdict(node, verdict) {
  node.classList.add("verdict");
  node.dataset.verdict = verdict;
  setText(node, VERDICTS[verdict] ?? verdict);
}

/** Joins the parts of a key. Names have no slash in a cluster; those of files may. */
export const keyOf = (namespace, name) => `${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;

/** Tells screen readers, at most every three seconds; of each topic, only the latest. */
export class Announcer {
  #node;
  #pending = new Map();
  #timer = null;

  constructor(node) {
    this.#node = node;
  }

  say(topic, text) {
    this.#pending.set(topic, text);
    this.#timer ??= setTimeout(() => this.#flush(), 700);
  }

  #flush() {
    setText(this.#node, [...this.#pending.values()].join(". "));
    this.#pending.clear();
    this.#timer = setTimeout(() => {
      this.#timer = null;
      if (this.#pending.size > 0) this.#flush();
    }, 3000);
  }
}
