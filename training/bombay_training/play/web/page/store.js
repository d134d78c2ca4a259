// What the page shows: the server's last answer and what the page itself remembers. The server decides everything: what is legal,
// what is hidden, what a position looks like. Clicks are sent with the version they were made for.

import { ask, report, send } from "./client.js";

export const store = {
  state: null, // the server's last answer
  busy: false, // a change has been sent and not yet answered
  undone: false, // whether the last change took a turn back
  advice: null, // the hint of the turn under way
  film: null, // the recorded game that is watched
  editor: { chosen: null, moving: false }, // of the board
};
const listeners = [];

// `draw(next, before)` is called with each state that is put and the one before it.
export const onPut = (draw) => listeners.push(draw);

export function put(next) {
  const before = store.state;
  store.state = next;
  for (const draw of listeners) draw(next, before);
}

// A seat as it is called where a sentence begins: "You", or the name of its agent.
export const who = (seat) => store.state.seats[seat].called;

export async function change(name, data = {}) {
  if (store.busy) return;
  store.busy = true;
  let answer = null;
  try {
    answer = await send(name, { version: store.state.version, ...data });
    report(null);
  } catch (error) {
    report(error.message);
  } finally {
    store.busy = false;
  }
  store.undone = name === "undo";
  if (answer) putNewer(answer);
  else await look();
}

// The server's answer, which is shown unless it is a film; null if it would be the one that is shown.
export async function look() {
  const wanted = store.state?.mode === "play" ? { seen: store.state.version } : {};
  const found = await ask(`state?${new URLSearchParams(wanted)}`);
  // Clicks do nothing until the change is answered, and its answer shows the position too.
  if (found && found.mode !== "watch" && !store.busy && !store.film) putNewer(found);
  return found;
}

// Answers may arrive in another order than they were asked for. In a game, what is shown already is not drawn again: a click is
// lost when its button is replaced between the press and the release.
function putNewer(found) {
  const isShown = found.mode === "play" && found.version === store.state?.version;
  if (!isShown && !(found.version < store.state?.version)) put(found);
}
