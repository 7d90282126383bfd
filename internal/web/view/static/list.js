// Selecting rows of a list. Without scripts, the boxes and the buttons work as they are.
const boxes = () => [...document.querySelectorAll("#bulk tbody [name=id]")];
const shortcuts = () => { try { return localStorage.shortcuts !== "off"; } catch { return true; } };

function count() {
  const label = document.querySelector("[data-selected]");
  if (!label) return;
  const list = boxes(), n = list.filter((box) => box.checked).length;
  label.textContent = n ? label.dataset.selected.replace("%", n) : "";
  for (const all of document.querySelectorAll("[data-all]")) {
    all.hidden = all.parentNode.hidden = false;
    all.checked = n > 0 && n === list.length;
    all.indeterminate = n > 0 && n < list.length;
  }
}

function set(on) {
  for (const box of boxes()) box.checked = on;
  count();
}

document.addEventListener("change", (event) => {
  if (event.target.matches("[data-all]")) set(event.target.checked);
  else if (event.target.closest("#bulk")) count();
});
document.addEventListener("reset", () => setTimeout(count));
document.addEventListener("htmx:after:swap", count);
addEventListener("pageshow", count);

// x selects the row that has the focus, or the first one; Escape clears.
document.addEventListener("keydown", (event) => {
  const target = event.target;
  if (event.altKey || event.ctrlKey || event.metaKey || document.querySelector("dialog[open]")) return;
  if (event.key === "Escape" && boxes().some((box) => box.checked)) set(false);
  if (event.key !== "x" || !shortcuts() || target.matches("input:not([type=checkbox]), select, textarea")) return;
  const box = (target.closest("tr") || document.querySelector("#bulk tbody tr"))?.querySelector("[name=id]");
  if (!box) return;
  box.checked = !box.checked;
  box.focus();
  count();
});
// The keys of the buttons under the list act on the selected rows, or on the one that has the focus.
document.addEventListener("keydown", (event) => {
  if (!shortcuts() || event.altKey || event.ctrlKey || event.metaKey || document.querySelector("dialog[open]") ||
    !/^[a-z]$/.test(event.key) || event.target.matches("input:not([type=checkbox]), select, textarea")) return;
  const button = document.querySelector(`[data-bulk-key="${event.key}"]`);
  if (!button) return;
  if (!boxes().some((box) => box.checked)) {
    const box = event.target.closest("tr")?.querySelector("[name=id]");
    if (!box) return;
    box.checked = true;
    count();
  }
  button.click();
});
// j and k go from row to row of a queue, and from page to page; Enter opens the link that has the focus.
const rows = () => [...document.querySelectorAll("[data-open-row]")];
document.addEventListener("keydown", (event) => {
  const step = { j: 1, k: -1 }[event.key];
  if (!step || !shortcuts() || event.altKey || event.ctrlKey || event.metaKey || document.querySelector("dialog[open]") ||
    event.target.matches("input:not([type=checkbox]), select, textarea")) return;
  const links = rows(), at = links.indexOf(event.target.closest("tr")?.querySelector("[data-open-row]"));
  const page = at >= 0 && !links[at + step] && document.querySelector(`[rel=${step > 0 ? "next" : "prev"}]`);
  if (page && !boxes().some((box) => box.checked)) {
    try { sessionStorage.row = step > 0 ? 0 : -1; } catch { /* the page opens without a focus */ }
    page.click();
    return;
  }
  links[at < 0 ? 0 : Math.min(links.length - 1, Math.max(0, at + step))]?.focus();
});
try {
  if (sessionStorage.row) rows().at(Number(sessionStorage.row))?.focus();
  delete sessionStorage.row;
} catch { /* no storage */ }
count();

// Keep what the list shows for the offline page, for this person and account.
async function keep() {
  const own = document.documentElement.dataset.seen, table = document.querySelector("table.warranties");
  if (!own || !table || !window.caches) return;
  const text = (root, selector) => root.querySelector(selector)?.textContent.trim() || "";
  const rows = [...table.tBodies[0].rows].map((row) => [".t1", ".n .nowrap", ".pill", ".e time"].map((part) => text(row, part)));
  const at = Date.now(), ends = Number(document.documentElement.dataset.until) || 0;
  const list = { at, until: Math.min(at + 24 * 3600 * 1000, ends), account: text(document, ".acct b"), rows };
  await (await caches.open("seen-" + own)).put("/offline/list", new Response(JSON.stringify(list)));
}
document.addEventListener("htmx:after:swap", keep);
keep();
if (document.documentElement.dataset.seen) navigator.serviceWorker?.register("/sw.js").catch(() => {});
