// Elements and texts. Data of the cluster reaches the page as text nodes and attribute values only.

/** The element with an id of index.html. */
export const byId = (id) => document.getElementById(id);

/** Makes an element with attributes, and children that are elements or texts. */
export function element(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) if (value !== null) made.setAttribute(name, value);
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

/** Sets a text if it differs: an unchanged one costs no layout. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export const count = (number, word, words = `${word}s`) => `${number.toLocaleString("en")} ${number === 1 ? word : words}`;

/** A button that does something. */
export function button(label, action, attributes = {}) {
  const made = element("button", { type: "button", ...attributes }, label);
  made.addEventListener("click", action);
  return made;
}

/** A button that copies a text and says so. */
export function copyButton(label, text, attributes = {}) {
  const made = button(label, async () => {
    let done = "Copied";
    try {
      await navigator.clipboard.writeText(text());
    } catch {
      done = "Not allowed";
    }
    setText(made, done);
    setTimeout(() => setText(made, label), 1500);
  }, attributes);
  return made;
}

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
