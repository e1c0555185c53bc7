// The list of Services, and its changes as they happen.
//
//   load ──> all rows and a cursor ──> events after the cursor ──> changes …
//    ^                                        │
//    └── resync: the program was started again, or was asked for more than it remembers

/** Longer than the program is ever silent. */
const SILENCE = 45_000;

export class Feed {
  #handlers;
  #cursor = null;
  #events = null;
  #silence = null;
  #retry = null;
  #delay = 500;

  /** Handlers: `replace(list)`, `change(changes)`, `source(state)`, `connection(state)`. */
  constructor(handlers) {
    this.#handlers = handlers;
    // A browser opens six connections to a server. A page that is not seen doesn't keep one.
    document.addEventListener("visibilitychange", () => (document.hidden ? this.#close() : this.#open()));
    this.#load();
  }

  async #load() {
    this.#close();
    try {
      const answer = await fetch("api/services", { cache: "no-store" });
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      const list = await answer.json();
      this.#cursor = list.cursor;
      this.#handlers.replace(list);
      this.#handlers.source(list.source);
      this.#open();
    } catch {
      this.#lost();
    }
  }

  #open() {
    if (this.#cursor === null || document.hidden) return;
    this.#close();
    const events = new EventSource(`api/events?after=${encodeURIComponent(this.#cursor)}`);
    this.#events = events;
    this.#listen("open", () => {
      this.#delay = 500;
      this.#handlers.connection("live");
    });
    this.#listen("changes", (event) => {
      this.#cursor = event.lastEventId;
      this.#handlers.change(JSON.parse(event.data));
    });
    this.#listen("source", (event) => this.#handlers.source(JSON.parse(event.data)));
    this.#listen("alive", () => {});
    this.#listen("resync", () => this.#load());
    // The browser tries again by itself, unless the server refuses.
    events.addEventListener("error", () => {
      if (this.#events !== events) return;
      if (events.readyState === EventSource.CLOSED) this.#lost();
      else this.#handlers.connection("lost");
    });
  }

  /** Handles an event of the current stream, and starts to count the silence after it. */
  #listen(type, handle) {
    const events = this.#events;
    events.addEventListener(type, (event) => {
      if (this.#events !== events) return;
      clearTimeout(this.#silence);
      this.#silence = setTimeout(() => this.#lost(), SILENCE);
      handle(event);
    });
  }

  #lost() {
    this.#close();
    this.#handlers.connection("lost");
    this.#retry = setTimeout(() => this.#load(), this.#delay);
    this.#delay = Math.min(this.#delay * 2, 10_000);
  }

  #close() {
    clearTimeout(this.#silence);
    clearTimeout(this.#retry);
    this.#events?.close();
    this.#events = null;
  }
}
