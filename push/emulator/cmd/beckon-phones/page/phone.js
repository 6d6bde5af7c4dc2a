// One phone: its lock screen with what is shown and what has just gone, the app
// when something is open, and the controls under it.
import { ago, button, call, element, hourOf, isAndroid, phonePath } from "/page/api.js";
import { cardOf } from "/page/card.js";
import { controlsOf } from "/page/controls.js";
import { offer } from "/page/faults.js";

const views = new Map(); // name → what the page keeps of a phone
const keepGone = 3;

// drawPhone shows a phone as it is now and tells whether it has rung since.
export function drawPhone(phone, { refresh, phones }) {
  offer(phones);
  const view = views.get(phone.name) ?? viewOf(phone, refresh);
  const rang = phone.rings > view.rings;
  view.rings = phone.rings;
  drawStatus(view, phone);
  drawScreen(view, phone);
  const card = JSON.stringify(phone.card ?? null);
  if (card !== view.cardShown) {
    view.cardShown = card;
    swap(view, view.app, phone.card ? [cardOf(view, phone.card)] : []);
  }
  view.box.classList.toggle("open", Boolean(phone.card));
  view.controls.draw(phone, phones);
  return { rang };
}

function viewOf(phone, refresh) {
  const id = `phone-${phone.name}`;
  const android = isAndroid(phone);
  const view = {
    name: phone.name, rings: phone.rings, shown: "", cardShown: "null", titles: new Map(), gone: [], wide: new Set(), refresh,
    head: element("h2", { id, tabIndex: -1 }, phone.name, element("span", { class: "quiet" }, android ? "Android · FCM" : "iPhone · APNs")),
    bar: element("p", { class: "bar" }), clock: element("p", { class: "clock", "aria-hidden": "true" }),
    bell: element("p", { class: "bell", hidden: true }, "Ringing"),
    list: element("div", { class: "alerts" }), goneList: element("ul", { class: "gone", "aria-label": "Gone from the screen" }),
    empty: element("p", { class: "empty" }, "Nothing on the screen"),
    icon: element("p", { class: "icon" }), app: element("div", { class: "app" }),
    said: element("p", { class: "said", role: "status" }),
  };
  view.attempt = (verb, body) => attempt(view, verb, body);
  view.controls = controlsOf(view, phone);
  const screen = element("div", { class: "screen" }, view.bar, view.clock, view.bell, view.goneList, view.empty, view.list, view.icon, view.app);
  view.box = element("section", { class: `phone ${android ? "android" : "iphone"}`, "aria-labelledby": id }, view.head, screen, view.said, view.controls.box);
  document.getElementById("phones").append(view.box);
  view.jump = element("a", { href: `#${id}` });
  document.getElementById("jump").append(view.jump);
  views.set(phone.name, view);
  return view;
}

// attempt makes a call and says what came of it under the phone.
async function attempt(view, verb, body) {
  view.said.textContent = "…";
  try {
    const out = await call("POST", phonePath(view.name, verb), body);
    let text = "";
    if (out.result) {
      text = out.result.outcome || `refused: ${out.result.reason}`;
      if (out.result.winner?.installation_label) text += ` (answered on ${out.result.winner.installation_label})`;
    }
    view.said.textContent = text;
    return out;
  } catch (e) {
    view.said.textContent = e.message;
    return null;
  } finally {
    view.refresh();
  }
}

function drawStatus(view, phone) {
  const words = [phone.online ? "online" : "no network"];
  if (!phone.installed) words.push("app not installed");
  if (phone.doze) words.push("in Doze");
  if (phone.quit) words.push("app ended");
  if (phone.installed && !phone.notifications) words.push("notifications off");
  if (phone.waiting) words.push(`${phone.waiting} kept by the vendor`);
  if (phone.auto) words.push(`taps ${phone.auto} by itself`);
  if (phone.fault) words.push(`misbehaves: ${phone.fault}`);
  if (phone.looking) words.push("presence reported");
  view.bar.textContent = words.join(" · ");
  view.clock.textContent = hourOf(new Date());
  view.icon.replaceChildren(
    element("span", { class: "glyph", "aria-hidden": "true" }, "B"), element("span", { class: "app-name" }, "Beckon"),
    phone.badge ? element("b", { class: "badge" }, element("span", { class: "unseen" }, "badge "), String(phone.badge)) : "");
  view.icon.hidden = !phone.installed;
  view.jump.replaceChildren(phone.name, phone.badge ? element("b", { class: "badge" }, element("span", { class: "unseen" }, ", badge "), String(phone.badge)) : "");
}

// swap puts new children in and keeps the focus near where it was.
function swap(view, box, children) {
  const had = box.contains(document.activeElement);
  box.replaceChildren(...children);
  if (had) view.head.focus({ preventScroll: true });
}

function drawScreen(view, phone) {
  const keys = new Set(phone.screen.map((a) => a.key));
  for (const [key, title] of view.titles) {
    if (keys.has(key)) continue;
    view.titles.delete(key);
    view.gone = [{ key, title, why: view.why?.key === key ? view.why.text : "gone" }, ...view.gone].slice(0, keepGone);
  }
  for (const a of phone.screen) view.titles.set(a.key, [a.title, (a.body || "").split("\n")[0]].filter(Boolean).join(": "));
  // A button that has the focus stays where nothing changed.
  const shown = JSON.stringify([phone.screen, phone.screen.map((a) => ago(a.at))]);
  if (shown !== view.shown) {
    view.shown = shown;
    swap(view, view.list, phone.screen.toReversed().map((a) => alertOf(view, a)));
    for (const box of view.list.children) unfold(view, box);
  }
  view.goneList.replaceChildren(...view.gone.map((g) => element("li", {}, element("s", { dir: "auto" }, g.title), ` ${g.why}`)));
  view.empty.hidden = phone.screen.length > 0;
  view.empty.textContent = !phone.installed ? "The app is not installed" : phone.paired ? "Nothing on the screen" : "Not paired: pair or claim below";
}

function alertOf(view, a) {
  const id = `${view.name}-${a.key}`;
  const box = element("article", { class: `alert ${a.level || ""}`, "aria-labelledby": id });
  box.dataset.key = a.key;
  const about = { "aria-describedby": id };
  const actions = element("div", { class: "actions" });
  for (const verb of a.buttons || []) {
    const label = verb === "approve" ? "Approve" : "Deny";
    actions.append(button(label, () => view.attempt("tap", { action: verb, key: a.key }), { class: verb, ...about }));
  }
  actions.append(button("Open", () => view.attempt("open", { key: a.key }), about));
  box.append(
    element("p", { class: "line" }, element("span", { class: "glyph small", "aria-hidden": "true" }, "B"), element("span", {}, "Beckon"),
      a.level === "time-sensitive" && view.box.classList.contains("iphone") ? element("span", { class: "level" }, "Time sensitive") : null,
      element("time", { dateTime: a.at }, ago(a.at)),
      button("×", () => view.attempt("dismiss", { key: a.key }), { class: "swipe", title: "Dismiss", "aria-label": "Dismiss", ...about })),
    element("h3", { id, dir: "auto" }, a.title),
    element("p", { class: "text", dir: "auto" }, a.body || ""), actions);
  return box;
}

// unfold offers the rest of a text that a lock screen cuts.
function unfold(view, box) {
  const text = box.querySelector(".text");
  const key = box.dataset.key;
  if (view.wide.has(key)) box.classList.add("wide");
  else if (text.scrollHeight <= text.clientHeight + 1) return;
  const toggle = element("button", { type: "button", class: "more", "aria-expanded": String(view.wide.has(key)) }, view.wide.has(key) ? "Show less" : "Show all");
  toggle.addEventListener("click", () => {
    const wide = box.classList.toggle("wide");
    if (wide) view.wide.add(key);
    else view.wide.delete(key);
    toggle.textContent = wide ? "Show less" : "Show all";
    toggle.setAttribute("aria-expanded", String(wide));
  });
  text.after(toggle);
}

// gone hears the log and remembers why alerts leave the screen.
export function gone(line) {
  const view = views.get(line.phone);
  if (!view) return;
  if (line.source === "phone" && ["removed", "dismissed", "opened", "acted"].includes(line.what)) {
    const words = { acted: `tapped ${line.record.action}`, opened: "opened", dismissed: "swiped away" };
    view.why = { key: line.record.key, text: words[line.what] ?? line.why };
  }
  if (line.source === "app" && line.what === "withdrawn") {
    if (view.why) view.why.text = "withdrawn: settled elsewhere";
    if (view.gone.length && view.gone[0].key === view.why?.key) view.gone[0].why = view.why.text;
  }
}

// ring shows for a few seconds that a phone rings.
export function ring(name) {
  const view = views.get(name);
  const screen = view.box.querySelector(".screen");
  screen.classList.remove("rings");
  void screen.offsetWidth; // lets the same animation start again
  screen.classList.add("rings");
  view.bell.hidden = false;
  view.jump.classList.add("rings");
  clearTimeout(view.quiet);
  view.quiet = setTimeout(() => {
    view.bell.hidden = true;
    view.jump.classList.remove("rings");
    screen.classList.remove("rings");
  }, 6000);
}
