// Selecting rows of a list. Without scripts, the boxes and the buttons work as they are.
const boxes = () => [...document.querySelectorAll("#bulk tbody [name=id]")];
const shortcuts = () => { try { return localStorage.shortcuts !== "off"; } catch { return true; } };

function count() {
  const label = document.querySelector("[data-selected]"), all = document.querySelector("[data-all]");
  if (!label || !all) return;
  const list = boxes(), n = list.filter((box) => box.checked).length;
  label.textContent = n ? label.dataset.selected.replace("%", n) : "";
  all.hidden = false;
  all.checked = n > 0 && n === list.length;
  all.indeterminate = n > 0 && n < list.length;
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
count();
