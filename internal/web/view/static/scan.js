// Reads a code with the camera, in browsers that can. Everything also works by typing.
const dialog = document.querySelector("#scanner");
const video = dialog.querySelector("video"), status = dialog.querySelector("[role=status]");
const found = dialog.querySelector(".found"), again = dialog.querySelector("[data-again]");
const form = document.querySelector("[data-check]"), button = form?.querySelector("[data-scan]");
let stream;
let asked = 0; // counts the starts, so that an answer to an earlier one changes nothing

// Where a code of this service leads, or "" for any other code. No foreign address is ever opened.
function target(text) {
  if (/^(wr-?)?[0-9a-z]{4}([ -]?[0-9a-z]{4}){3,4}$/i.test(text)) return text;
  let url;
  try { url = new URL(text); } catch { return ""; }
  const ours = url.protocol.startsWith("http") && url.origin === location.origin && !url.username && !url.password;
  const known = /^\/(verify\/[^/]+|01\/[0-9]{8,14}\/21\/[^/]+)$/.test(url.pathname) ||
    url.pathname === "/take" && url.hash.length > 1;
  return ours && known ? url.pathname + url.hash : "";
}

function stop() {
  asked++;
  for (const track of stream?.getTracks() ?? []) track.stop();
  stream = undefined;
  video.srcObject = null;
  video.hidden = true;
}

function say(text, code = "") {
  status.textContent = text;
  found.textContent = code.slice(0, 200);
  found.hidden = !code;
  again.hidden = !!stream;
  if (!stream) status.focus();
}

function got(text) {
  stop();
  const where = target(text.trim());
  if (!where) return say(dialog.dataset.foreign, text);
  dialog.close();
  form.querySelector("#reference").value = where;
  form.requestSubmit();
}

async function start() {
  stop();
  const turn = ++asked;
  say("");
  again.hidden = true;
  let taken;
  try {
    taken = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment" } });
  } catch (error) {
    if (turn === asked) say(error.name === "NotAllowedError" ? dialog.dataset.denied : dialog.dataset.none);
    return;
  }
  if (turn !== asked) { // the dialog was closed meanwhile
    for (const track of taken.getTracks()) track.stop();
    return;
  }
  stream = taken;
  video.srcObject = stream;
  video.hidden = false;
  say(dialog.dataset.aim);
  const detector = new BarcodeDetector({ formats: ["qr_code"] });
  try {
    await video.play();
    while (turn === asked) {
      const codes = await detector.detect(video);
      if (turn === asked && codes.length) return got(codes[0].rawValue);
      await new Promise((done) => { setTimeout(done, 150); });
    }
  } catch {
    if (turn !== asked) return;
    stop();
    say(dialog.dataset.none);
  }
}

if (button && "BarcodeDetector" in window && navigator.mediaDevices?.getUserMedia) {
  BarcodeDetector.getSupportedFormats().then((formats) => { button.hidden = !formats.includes("qr_code"); }, () => {});
  button.addEventListener("click", () => { dialog.showModal(); start(); });
  again.addEventListener("click", start);
  dialog.querySelector("[data-stop]").addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", stop);
  addEventListener("pagehide", stop);
  document.addEventListener("visibilitychange", () => { if (document.hidden && dialog.open) dialog.close(); });
}
