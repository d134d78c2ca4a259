// What the page shows: the server's last answer and what the page itself remembers. The server decides everything: what is legal,
// what is hidden, what a position looks like. Clicks are sent with the version they were made for.

import { ask, report, send } from "./client.js";

export const store = {
  state: null, // the server's last answer
  newest: 0, // the version that the server has told
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

// Send a change. An error is told by `say`.
export async function change(name, data = {}, say = report) {
  if (store.busy) return;
  store.busy = true;
  let answer = null;
  try {
    answer = await send(name, { version: store.state.version, ...data });
    say(null);
  } catch (error) {
    say(error.message);
  } finally {
    store.busy = false;
  }
  store.undone = name === "undo";
  if (answer) putNewer(answer);
  await catchUp(answer === null);
  return answer !== null;
}

// Show how things stand, unless that is shown already.
export async function look() {
  const found = await ask("state");
  // Clicks do nothing until the change is answered, and its answer shows the position too.
  if (found.mode !== "watch" && !store.busy && !store.film) putNewer(found);
  return found;
}

// Answers may arrive in another order than they were asked for. In a game, what is shown already is not drawn again: a click is
// lost when its button is replaced between the press and the release.
function putNewer(found) {
  const isShown = found.mode === "play" && found.version === store.state?.version && found.stopped === store.state?.stopped;
  if (!isShown && !(found.version < store.state?.version)) put(found);
}

// --- the stream of versions ---

const SILENCE = 40_000; // milliseconds after which a stream counts as lost; the server repeats the version every 15 seconds
const RETRY = 2500; // milliseconds
const UNSEEN = 5000; // milliseconds between two looks of a hidden tab
let stream = null;
let lost = false; // whether the page says that the server does not answer
let alarm = null;

// Follow what happens at the table, here and in other tabs. A browser opens six connections to a server, and each stream takes one
// for good. So a hidden tab has no stream: it looks from time to time.
export function follow() {
  stream?.close();
  if (document.hidden) {
    catchUp(true);
    return expectMore(UNSEEN);
  }
  stream = new EventSource("api/events");
  stream.onmessage = ({ data }) => {
    expectMore();
    store.newest = Number(data);
    catchUp();
  };
  stream.onerror = () => {
    catchUp(true); // why
    if (stream.readyState === EventSource.CLOSED) expectMore(RETRY); // otherwise the browser connects again
  };
  expectMore();
}

function expectMore(milliseconds = SILENCE) {
  clearTimeout(alarm);
  alarm = setTimeout(follow, milliseconds);
}

// A tab that was asleep, or comes back from the browser's memory.
for (const event of ["visibilitychange", "pageshow"])
  window.addEventListener(event, () => {
    if (alarm) follow();
  });

// Look if the server has told a newer version than the one that is shown.
export async function catchUp(always = false) {
  const isNew = store.newest > store.state.version && !store.busy && !store.film;
  try {
    if (always || isNew) await look();
    if (lost) report(null);
    lost = false;
  } catch (error) {
    lost = true;
    report(error.message);
  }
}
