// Progressive enhancement: every action also works as a plain link or form.
const one = (selector, root = document) => root.querySelector(selector);
const say = (text) => { const live = one("#live"); if (live) live.textContent = text; };

// Browsers may refuse it.
const storage = (() => { try { return localStorage; } catch { return {}; } })();

function copy(button) {
  const source = one(button.dataset.copy);
  const done = () => {
    const label = button.textContent;
    button.textContent = button.dataset.copied;
    say(button.dataset.copied);
    setTimeout(() => { button.textContent = label; }, 1600);
  };
  if (navigator.clipboard) {
    navigator.clipboard.writeText(source.textContent).then(done);
    return;
  }
  // Without https there is no clipboard API: select the text instead.
  getSelection().selectAllChildren(source);
}

function toggleTheme() {
  const root = document.documentElement;
  const now = root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  root.dataset.theme = now === "dark" ? "light" : "dark";
  storage.theme = root.dataset.theme;
}

// A page stays in its account after another tab switched: its links switch back.
const mine = () => one("#accounts [aria-current]");
if (mine()) storage.account = mine().value;
window.navigation?.addEventListener("navigate", (event) => {
  const own = mine(), to = event.destination;
  if (!own || own.value === storage.account || to.sameDocument || event.formData || !event.canIntercept) return;
  event.preventDefault();
  own.form.next.value = to.url.slice(origin.length);
  own.form.requestSubmit(own);
});

function choose(tab) {
  for (const other of tab.closest("[role=tablist]").querySelectorAll("[role=tab]")) {
    const on = other === tab;
    other.setAttribute("aria-selected", on);
    other.tabIndex = on ? 0 : -1;
    one("#" + other.getAttribute("aria-controls")).hidden = !on;
  }
}

function openDialog(selector) {
  const dialog = one(selector);
  dialog.showModal();
  one("input[type=search]", dialog)?.select();
  if (dialog.dataset.script) import(dialog.dataset.script);
}

document.addEventListener("click", (event) => {
  const hit = (selector) => event.target.closest(selector);
  if (hit("[data-copy]")) copy(hit("[data-copy]"));
  if (hit("[data-print]")) print();
  if (hit("[data-open]")) {
    event.preventDefault();
    hit("dialog")?.close();
    openDialog(hit("[data-open]").dataset.open);
  }
  if (hit("[data-close]")) hit("dialog")?.close();
  if (hit("[role=tab]")) choose(hit("[role=tab]"));
  if (hit("[data-theme-toggle]")) toggleTheme();
});

// Without scripts all tab panels are visible; with scripts only the selected one.
for (const list of document.querySelectorAll("[role=tablist]")) {
  list.hidden = false;
  choose(one("[role=tab]", list));
}

// A double click on a submit button sends the form once.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post") return;
  if (event.submitter === form.sentBy && event.timeStamp - form.sentAt < 3000) {
    event.preventDefault();
    event.stopImmediatePropagation();
  } else {
    form.sentBy = event.submitter;
    form.sentAt = event.timeStamp;
  }
});

// Announce the number of results.
document.addEventListener("htmx:after:swap", () => {
  const found = one("[data-found]");
  if (found) say(found.textContent);
});

// Single-key shortcuts can be turned off on this device.
let shortcuts = storage.shortcuts !== "off";
const boxes = document.querySelectorAll("[data-shortcuts]");
for (const box of boxes) {
  box.disabled = false;
  box.checked = shortcuts;
  box.addEventListener("change", () => {
    shortcuts = box.checked;
    storage.shortcuts = shortcuts ? "on" : "off";
    for (const other of boxes) other.checked = shortcuts;
  });
}

let leader = "";
const jumps = { w: "/warranties", p: "/customers", c: "/claims", d: "/documents", s: "/settings", o: "/" };
document.addEventListener("keydown", (event) => {
  const target = event.target;
  if (target.matches?.("[role=tab]")) {
    const all = [...target.closest("[role=tablist]").querySelectorAll("[role=tab]")];
    const at = all.indexOf(target), n = all.length;
    const next = all[{ Home: 0, End: n - 1, ArrowRight: (at + 1) % n, ArrowLeft: (at - 1 + n) % n }[event.key]];
    if (next) {
      event.preventDefault();
      next.focus();
      choose(next);
      return;
    }
  }
  if (event.altKey) return;
  // Where a key led to a message that a decision needs, Ctrl+Enter decides.
  if ((event.metaKey || event.ctrlKey) && event.key === "Enter" && target.decides) {
    event.preventDefault();
    target.decides.click();
    return;
  }
  const palette = one("#palette");
  if ((event.metaKey || event.ctrlKey) && event.key === "k" && palette && !one("dialog[open]")) {
    event.preventDefault();
    openDialog("#palette");
    return;
  }
  if (target.matches?.("input, select, textarea, [contenteditable]")) return;
  if (!shortcuts || event.metaKey || event.ctrlKey || !palette || one("dialog[open]")) return;
  if (leader === "g" && jumps[event.key]) location.href = jumps[event.key];
  leader = event.key === "g" ? "g" : "";
  if (event.key === "/") {
    event.preventDefault();
    openDialog("#palette");
  }
  const keyed = /^[a-z0-9]$/.test(event.key) && leader !== "g" && one(`[data-key="${event.key}"]`);
  if (keyed) {
    event.preventDefault();
    const message = keyed.dataset.needs && keyed.form.elements[keyed.dataset.needs];
    if (message && !message.value.trim()) {
      message.focus();
      message.decides = keyed;
    } else if (keyed.matches("a, button")) keyed.click();
    else keyed.focus();
    return;
  }
  if (event.key === "n" && one("[data-new]")) location.href = "/warranties/new";
  if (event.key === "?") one("#shortcuts")?.showModal();
});
