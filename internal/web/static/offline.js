// Shows the list that was last seen, for a week.
const section = document.querySelector("#seen"), list = section.querySelector("ul");
for (const name of window.caches ? await caches.keys() : []) {
  if (!name.startsWith("seen-")) continue;
  const kept = await (await caches.match("/offline/list", { cacheName: name }))?.json();
  if (!kept || Date.now() - kept.at > 7 * 24 * 3600 * 1000) {
    await caches.delete(name);
    continue;
  }
  const at = section.querySelector("[data-at]");
  at.textContent = at.dataset.at.replace("%", kept.account)
    .replace("%", new Date(kept.at).toLocaleString(document.documentElement.lang, { dateStyle: "medium", timeStyle: "short" }));
  for (const [product, ...facts] of kept.rows) {
    const row = document.createElement("li"), title = document.createElement("b"), rest = document.createElement("span");
    title.textContent = product;
    rest.className = "t2";
    rest.textContent = facts.filter(Boolean).join(" · ");
    row.append(title, rest);
    list.append(row);
  }
  section.hidden = false;
}
