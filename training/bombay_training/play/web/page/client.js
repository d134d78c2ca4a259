// Requests to the server. An answer with an error is thrown as one, in the server's words, and so is silence.

import { byId, show } from "./dom.js";

export function report(message) {
  show("error", message ? document.createTextNode(message) : null);
}

export async function ask(name, options = {}) {
  const answer = await fetch(`api/${name}`, options).catch(() => {
    throw new Error("The server does not answer. Is the command in the terminal still running?");
  });
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.error);
  return found;
}

export const send = (name, data) =>
  ask(name, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(data) });
