// Requests to the server. An answer with an error is thrown as one, in the server's words.

import { byId, show } from "./dom.js";

export function report(message) {
  show("error", message ? document.createTextNode(message) : null);
}

export async function ask(name, options = {}) {
  const answer = await fetch(`api/${name}`, options);
  if (answer.status === 204) return null;
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.error);
  return found;
}

export const send = (name, data) =>
  ask(name, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(data) });
