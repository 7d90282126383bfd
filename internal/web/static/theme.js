// Runs before the first paint, so that the chosen theme does not flash.
try { if (localStorage.theme) document.documentElement.dataset.theme = localStorage.theme; } catch { /* private window */ }
