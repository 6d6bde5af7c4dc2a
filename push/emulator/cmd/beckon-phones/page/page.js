// The lock screens of all phones, as they are now. What is shown comes from
// agents and servers, so it enters the page as text and in no other way.
"use strict";

const views = new Map(); // name → what the page keeps of a phone
let sound = null;

function element(tag, name, text) {
  const e = document.createElement(tag);
  if (name) e.className = name;
  if (text !== undefined) e.textContent = text;
  return e;
}

function button(label, press) {
  const b = element("button", "", label);
  b.type = "button";
  b.addEventListener("click", async () => {
    b.disabled = true;
    await press();
    b.disabled = false;
    refresh();
  });
  return b;
}

async function call(name, verb, body) {
  const res = await fetch(`/phones/${encodeURIComponent(name)}/${verb}`, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  });
  const out = await res.json();
  if (!res.ok) throw new Error(out.error);
  return out;
}

// attempt makes a call and says what came of it under the phone.
async function attempt(view, verb, body) {
  try {
    const out = await call(view.name, verb, body);
    if (out.result) view.said.textContent = out.result.outcome || `refused: ${out.result.reason}`;
    return out;
  } catch (e) {
    view.said.textContent = e.message;
    return null;
  }
}

function alertOf(view, a) {
  const box = element("article", "alert");
  box.append(element("h3", "", a.title), element("p", "text", a.body || ""));
  for (const verb of a.buttons || []) {
    box.append(button(verb === "approve" ? "Approve" : "Deny", () => attempt(view, "tap", { action: verb, key: a.key })));
  }
  box.append(button("Open", async () => showCard(view, await attempt(view, "open", { key: a.key }))));
  return box;
}

function showCard(view, card) {
  view.card.replaceChildren();
  if (!card) return;
  const box = element("article", "card");
  box.append(element("h3", "", card.title), element("p", "about", [card.state, card.class].filter(Boolean).join(" ")));
  const items = card.items || [];
  for (const item of items) {
    box.append(element("p", "text", [item.question, ...(item.facts || [])].filter(Boolean).join("\n")));
  }
  if (card.agent_reason) box.append(element("p", "text", `The agent says: ${card.agent_reason}`));
  if (card.text) box.append(element("p", "text", card.text));
  // A card with several questions is answered from a terminal, one option for each.
  for (const o of items.length === 1 ? items[0].options : []) {
    box.append(button(o.label, async () => {
      if (await attempt(view, "answer", { options: [o.id] })) showCard(view, null);
    }));
  }
  box.append(button("Close", async () => showCard(view, null)));
  view.card.append(box);
}

function viewOf(phone) {
  let view = views.get(phone.name);
  if (view) return view;
  const box = element("section", "phone");
  view = {
    name: phone.name, box, rings: phone.rings, shown: "",
    about: element("p", "about"), screen: element("div"), card: element("div"), said: element("p", "said"),
  };
  view.said.setAttribute("role", "status");
  box.append(element("h2", "", `${phone.name} · ${phone.vendor === "fcm" ? "Android, FCM" : "iPhone, APNs"}`), view.about, view.said, view.card, view.screen);
  box.addEventListener("animationend", () => box.classList.remove("rings"));
  document.getElementById("phones").append(box);
  views.set(phone.name, view);
  return view;
}

function draw(phone) {
  const view = viewOf(phone);
  view.about.textContent = phone.paired
    ? `badge ${phone.badge} · rang ${phone.rings} times`
    : `not paired: beckon-phones pair ${phone.name} CODE --server URL`;
  const shown = JSON.stringify(phone.screen);
  if (shown !== view.shown) { // a button that has the focus stays where nothing changed
    view.shown = shown;
    view.screen.replaceChildren(...phone.screen.toReversed().map((a) => alertOf(view, a)));
  }
  if (phone.rings > view.rings) ring(view);
  view.rings = phone.rings;
}

function ring(view) {
  view.box.classList.remove("rings");
  void view.box.offsetWidth; // lets the same animation start again
  view.box.classList.add("rings");
  if (!sound) return;
  const tone = sound.createOscillator();
  const volume = sound.createGain();
  volume.gain.value = 0.1;
  tone.frequency.value = 880;
  tone.connect(volume).connect(sound.destination);
  tone.start();
  tone.stop(sound.currentTime + 0.25);
}

let reading = false;
let again = false;

// refresh reads the phones; calls during a read are one more read after it.
async function refresh() {
  again = true;
  if (reading) return;
  reading = true;
  try {
    while (again) {
      again = false;
      const res = await fetch("/state");
      for (const phone of (await res.json()).phones) draw(phone);
    }
  } catch { /* follow says that nobody answers */ } finally { reading = false; }
}

// follow reads again whenever anything was written down.
async function follow() {
  const status = document.getElementById("status");
  for (;;) {
    try {
      const res = await fetch("/log?follow=1");
      const lines = res.body.getReader();
      status.textContent = "Live";
      refresh();
      while (!(await lines.read()).done) refresh();
    } catch { /* the program is gone for now */ }
    status.textContent = "beckon-phones does not answer";
    await new Promise((again) => setTimeout(again, 1000));
  }
}

document.getElementById("sound").addEventListener("click", (e) => {
  sound = sound ? null : new AudioContext(); // browsers allow it after a click only
  e.target.textContent = sound ? "Sound on" : "Sound off";
  e.target.setAttribute("aria-pressed", String(Boolean(sound)));
});
follow();
