// The page: it reads the state whenever anything was written down, and hands it
// to its parts.
import { call, say } from "/page/api.js";
import { drawPhone, gone, ring } from "/page/phone.js";
import { drawFaults, startFaults } from "/page/faults.js";
import { startLog, logLine, logClear } from "/page/log.js";

const status = document.getElementById("status");
let sound = null;
let reading = false;
let again = false;

// refresh reads the phones; calls during a read are one more read after it.
export async function refresh() {
  again = true;
  if (reading) return;
  reading = true;
  try {
    while (again) {
      again = false;
      draw((await call("GET", "/state")).phones);
      drawFaults(await call("GET", "/faults"));
    }
  } catch { /* follow says that nobody answers */ } finally { reading = false; }
}

function draw(phones) {
  let badges = 0;
  for (const phone of phones) {
    badges += phone.badge;
    const { rang } = drawPhone(phone, { refresh, phones });
    if (rang) {
      ring(phone.name);
      say(`${phone.name} rings: ${phone.screen.at(-1)?.title ?? ""}`);
      beep();
    }
  }
  document.title = badges ? `(${badges}) beckon-phones` : "beckon-phones";
}

// follow reads again whenever anything was written down.
async function follow() {
  for (;;) {
    try {
      const res = await fetch("/log?from=-300&follow=1");
      logClear();
      status.textContent = "Live";
      status.dataset.live = "yes";
      refresh();
      for await (const line of linesOf(res.body)) {
        gone(line);
        logLine(line);
        refresh();
      }
    } catch { /* the program is gone for now */ }
    status.textContent = "beckon-phones does not answer";
    status.dataset.live = "no";
    await new Promise((done) => setTimeout(done, 1000));
  }
}

async function* linesOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) if (line) yield JSON.parse(line);
  }
}

function beep() {
  if (!sound) return;
  const tone = sound.createOscillator();
  const volume = sound.createGain();
  volume.gain.value = 0.1;
  tone.frequency.value = 880;
  tone.connect(volume).connect(sound.destination);
  tone.start();
  tone.stop(sound.currentTime + 0.25);
}

document.getElementById("sound").addEventListener("click", (e) => {
  sound = sound ? null : new AudioContext(); // browsers allow it after a click only
  e.currentTarget.textContent = sound ? "Sound on" : "Sound off";
  e.currentTarget.setAttribute("aria-pressed", String(Boolean(sound)));
});
startFaults(refresh);
startLog();
setInterval(refresh, 30000); // clocks and "2 min ago" go on
follow();
