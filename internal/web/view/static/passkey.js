// Makes and uses passkeys. The button has the options of the page, and a field of its form takes the answer.
const button = document.querySelector("[data-passkey]"), form = button.form;
const options = JSON.parse(button.dataset.passkey), makes = "pubKeyCredParams" in options;
let waiting; // the request that waits for the person

const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
const text = (buffer) => btoa(Array.from(new Uint8Array(buffer), (b) => String.fromCharCode(b)).join(""))
  .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const named = (list = []) => list.map((c) => ({ ...c, id: bytes(c.id) }));

function publicKey() {
  const given = { ...options, challenge: bytes(options.challenge) };
  if (!makes) return { ...given, allowCredentials: named(options.allowCredentials) };
  const user = { ...options.user, id: bytes(options.user.id) };
  return { ...given, user, excludeCredentials: named(options.excludeCredentials) };
}

// The answer as the standard writes it in JSON. Password managers may answer with objects that have no toJSON.
function answer(made) {
  const response = {};
  for (const name of ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"]) {
    if (made.response[name]) response[name] = text(made.response[name]);
  }
  if (makes) response.transports = made.response.getTransports?.() ?? [];
  return JSON.stringify({
    id: made.id, rawId: text(made.rawId), type: made.type, response,
    authenticatorAttachment: made.authenticatorAttachment ?? undefined,
    clientExtensionResults: made.getClientExtensionResults(),
  });
}

function send(made) {
  form.elements.passkey.value = answer(made);
  if (makes) return form.requestSubmit(button);
  form.action = button.dataset.to;
  form.submit(); // the other fields may be empty
}

function say(which) {
  for (const name of ["failed", "exists"]) {
    const line = form.querySelector(`[data-passkey-${name}]`);
    if (line) line.hidden = name !== which;
  }
}

async function ask(mediation) {
  waiting?.abort();
  const turn = waiting = new AbortController();
  const request = { publicKey: publicKey(), signal: turn.signal, ...(mediation && { mediation }) };
  try {
    const made = await (makes ? navigator.credentials.create(request) : navigator.credentials.get(request));
    if (turn === waiting) send(made);
  } catch (error) {
    if (turn !== waiting || mediation) return;
    say(error.name === "InvalidStateError" ? "exists" : "failed");
    offer();
  }
}

// Offers passkeys in the field for the address, in browsers that can.
async function offer() {
  if (!("conditional" in button.dataset)) return;
  if (await PublicKeyCredential.isConditionalMediationAvailable?.()) ask("conditional");
}

// Browsers have passkeys on the host that the service knows as its own only.
if (window.PublicKeyCredential && (options.rpId ?? options.rp.id) === location.hostname) {
  button.hidden = false;
  form.querySelector("[data-passkey-none]")?.remove();
  button.addEventListener("click", (event) => {
    if (form.elements.passkey.value) return; // the answer is being sent
    event.preventDefault();
    say("");
    if (!makes || form.reportValidity()) ask();
  });
  addEventListener("pageshow", (event) => { if (event.persisted) form.elements.passkey.value = ""; });
  offer();
}
