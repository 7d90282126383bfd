// The search dialog. app.js loads this when it opens for the first time. Without it, Enter opens the page of results.
const palette = document.querySelector("#palette");
const input = palette.querySelector("input"), list = palette.querySelector("[role=listbox]");
const hint = palette.querySelector("[data-hint]"), status = palette.querySelector("[role=status]");
const asks = hint.textContent;
const fewest = 2;
let sent; // the request that is under way
let waiting; // the timer before it
let opening = false; // Enter was pressed before the results came

const options = () => [...list.querySelectorAll("[role=option]")];

function choose(option) {
  for (const other of options()) other.setAttribute("aria-selected", other === option);
  if (option) {
    input.setAttribute("aria-activedescendant", option.id);
    option.scrollIntoView({ block: "nearest" });
  } else {
    input.removeAttribute("aria-activedescendant");
  }
}

const chosen = () => list.querySelector("[aria-selected=true]");

function show(html) {
  list.innerHTML = html;
  const found = options();
  list.hidden = !found.length;
  const none = list.querySelector("p");
  hint.textContent = none ? none.textContent : asks;
  hint.hidden = found.length > 0;
  input.setAttribute("aria-expanded", found.length > 0);
  status.textContent = list.querySelector("[data-count]")?.textContent ?? "";
  choose(found[0]);
}

function stop() {
  clearTimeout(waiting);
  sent?.abort();
  sent = undefined;
  opening = false;
  palette.removeAttribute("aria-busy");
}

async function ask() {
  const own = sent = new AbortController();
  palette.setAttribute("aria-busy", "true");
  try {
    const account = document.querySelector("#accounts [aria-current]")?.value;
    const response = await fetch("/search?q=" + encodeURIComponent(input.value), {
      signal: own.signal,
      headers: { "HX-Request": "true", ...(account && { "X-Account": account }) },
    });
    if (!response.ok || response.redirected) throw new Error(response.status);
    const html = await response.text();
    if (own !== sent) return;
    const open = opening;
    stop();
    show(html);
    if (open) chosen()?.click();
  } catch {
    if (own !== sent) return; // a later one replaced it
    stop();
    show("");
    hint.textContent = hint.dataset.failed;
  }
}

input.addEventListener("input", () => {
  stop();
  if ([...input.value.trim()].length < fewest) {
    show("");
    return;
  }
  sent = new AbortController(); // what is shown belongs to the text before
  waiting = setTimeout(ask, 80);
});

input.addEventListener("keydown", (event) => {
  const all = options(), at = all.indexOf(chosen());
  const to = { ArrowDown: at + 1, ArrowUp: at - 1 }[event.key];
  if (to !== undefined && all.length) {
    event.preventDefault();
    choose(all[(to + all.length) % all.length]);
  }
  if (event.key === "Escape") palette.close(); // a search field would only empty itself
  if (event.key !== "Enter" || event.isComposing) return;
  if (sent) {
    event.preventDefault();
    opening = true;
  } else if (chosen()) {
    event.preventDefault();
    chosen().click();
  }
});

palette.addEventListener("close", stop);
if (input.value) input.dispatchEvent(new Event("input")); // typed before this was loaded
