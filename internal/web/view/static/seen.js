// The list that the offline page shows belongs to one session and account. Pages of another one, or of nobody, delete it.
const own = document.documentElement.dataset.seen;
if (own !== undefined && window.caches) {
  for (const name of await caches.keys()) {
    if (name.startsWith("seen-") && name !== "seen-" + own) await caches.delete(name);
  }
}
