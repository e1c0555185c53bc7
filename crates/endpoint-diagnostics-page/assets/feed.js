// The list of Services, and its changes as they happen.
//
//   load ──> all rows and a cursor ──> events after the cursor ──> changes … (again after the end of the stream)
//    ^                                        │
//    └── resync: the program was asked for more than it remembers

import { events, request } from "./api.js";
import { setPresent } from "./time.js";

/** Longer than the program is ever silent. */
const SILENCE = 45_000;
/** The statuses of answers to requests without a token that counts: of the program that runs now, or of a user. */
const REFUSED = [401, 403];
/** The status of an answer to a page for which the program has no stream. It says when to try again; a server between may not. */
const FULL = 503;
/** How long a page that is not seen looks at changes, and how long it rests then. */
const LOOK = 3_000;
const REST = 30_000;

export class Feed {
  #handlers;
  #cursor = null;
  #stream = null;
  #silence = null;
  #retry = null;
  #delay = 500;

  /**
   * Handlers: `replace(list)`, `change(changes)`, `overview(overview)`, `source(state)`,
   * `connection(state)`.
   */
  constructor(handlers) {
    this.#handlers = handlers;
    document.addEventListener("visibilitychange", () => (document.hidden ? this.#rest() : this.#go()));
    this.#load();
  }

  async #load() {
    const stream = this.#begin();
    try {
      const answer = await this.#answer("services", stream.signal);
      setPresent(answer.headers.get("date"));
      const list = await answer.json();
      if (this.#stream !== stream) return;
      this.#cursor = list.cursor;
      this.#handlers.replace(list);
      this.#handlers.overview(list.overview);
      this.#handlers.source(list.source);
      if (document.hidden) this.#rest();
      else this.#open();
    } catch (error) {
      if (this.#stream === stream) this.#lost(error);
    }
  }

  #go() {
    return this.#cursor === null ? this.#load() : this.#open();
  }

  /**
   * A browser opens six connections to a server, and a page that is not seen doesn't keep one: it looks at times, for the number in
   * its title.
   */
  #rest() {
    this.#close();
    this.#retry = setTimeout(() => {
      this.#go();
      this.#retry = setTimeout(() => document.hidden && this.#rest(), LOOK);
    }, REST);
  }

  /** Ends what goes on, for another request. */
  #begin() {
    this.#close();
    this.#stream = new AbortController();
    // Also of a connection that nobody has closed.
    this.#listen();
    return this.#stream;
  }

  async #open() {
    const stream = this.#begin();
    const begun = Date.now();
    try {
      const answer = await this.#answer(`events?after=${encodeURIComponent(this.#cursor)}`, stream.signal);
      if (this.#stream !== stream) return;
      this.#delay = 500;
      this.#handlers.connection("live");
      this.#listen();
      for await (const event of events(answer.body)) {
        if (this.#stream !== stream) return;
        this.#listen();
        this.#handle(event);
      }
      if (this.#stream !== stream) return;
      // The program ends a stream at times, to see again whether its client may read.
      if (Date.now() - begun > LOOK) this.#open();
      else throw new Error("the stream has ended");
    } catch (error) {
      if (this.#stream === stream) this.#lost(error);
    }
  }

  /** The answer to a request, if it is one with data. */
  async #answer(path, signal) {
    const answer = await request(path, signal);
    if (answer.ok) return answer;
    const after = Number(answer.headers.get("retry-after"));
    throw new Error(`status ${answer.status}`, { cause: { status: answer.status, after } });
  }

  #handle({ type, id, data }) {
    if (type === "changes") {
      this.#cursor = id;
      this.#handlers.change(JSON.parse(data));
    } else if (type === "overview") {
      this.#handlers.overview(JSON.parse(data));
    } else if (type === "source") {
      this.#handlers.source(JSON.parse(data));
    } else if (type === "resync") {
      this.#load();
    }
  }

  /** Starts to count the silence. */
  #listen() {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => this.#lost(), SILENCE);
  }

  #lost(error) {
    this.#close();
    const { status, after } = error?.cause ?? {};
    if (status === FULL && after > 0 && this.#cursor !== null) {
      // The list is as good as it was: the events after it are what is missing.
      this.#handlers.connection("full");
      this.#retry = setTimeout(() => (document.hidden ? this.#rest() : this.#open()), after * 1000);
      return;
    }
    this.#handlers.connection(REFUSED.includes(status) ? "refused" : "lost");
    this.#retry = setTimeout(() => this.#load(), this.#delay);
    this.#delay = Math.min(this.#delay * 2, 10_000);
  }

  #close() {
    clearTimeout(this.#silence);
    clearTimeout(this.#retry);
    this.#stream?.abort();
    this.#stream = null;
  }
}
