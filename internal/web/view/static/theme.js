// Runs before the first paint, so that the page does not flash in the wrong theme.
try {
  if (localStorage.theme) document.documentElement.dataset.theme = localStorage.theme;
} catch { /* private window */ }
