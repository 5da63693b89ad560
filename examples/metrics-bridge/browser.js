// Runs the page's own libraries in Node, unchanged and without installing a package.
//
// The libraries are written for browsers and need XMLHttpRequest, which Node lacks; this file provides
// it with fetch. Node has WebSocket from version 22 on; in older versions SockJS streams over HTTP.

const { readFileSync } = require('node:fs');
const { join } = require('node:path');
const { runInThisContext } = require('node:vm');

const VENDOR = join(
  __dirname,
  '../../dashboard/src/main/resources/io/vertigrad/dashboard/page/vendor',
);

/** Implements the part of XMLHttpRequest that SockJS uses. */
class FetchedRequest {
  readyState = 0;
  status = 0;
  responseText = '';
  withCredentials = false;
  #aborted = new AbortController();
  #headers = {};

  open(method, url) {
    Object.assign(this, { method, url });
  }

  setRequestHeader(name, value) {
    this.#headers[name] = value;
  }

  abort() {
    this.#aborted.abort();
  }

  async send(body) {
    const { method, url } = this;
    const signal = this.#aborted.signal;
    try {
      const response = await fetch(url, { method, body, headers: this.#headers, signal });
      this.status = response.status;
      const text = new TextDecoder();
      for await (const part of response.body ?? []) {
        this.responseText += text.decode(part, { stream: true });
        this.#become(3);
      }
    } catch {
      this.status = 0;
    }
    if (!signal.aborted) {
      this.#become(4);
    }
  }

  #become(state) {
    this.readyState = state;
    this.onreadystatechange?.();
  }
}

globalThis.XMLHttpRequest ??= FetchedRequest;
for (const library of ['sockjs-client/sockjs.min.js', 'eventbus-bridge-client/vertx-eventbus.js']) {
  const file = join(VENDOR, library);
  runInThisContext(readFileSync(file, 'utf8'), { filename: file });
}

exports.EventBus = globalThis.EventBus;
