// The code of a slip is after #, where no server sees it. Move it out of the address and the history, and
// send it in a form.
function scan() {
  const code = location.hash.slice(1);
  if (!/^[0-9a-z-]{16,40}$/i.test(code)) return;
  history.replaceState(null, "", "/take");
  const form = document.createElement("form"), field = document.createElement("input");
  form.method = "post";
  form.action = "/take";
  field.name = "code";
  field.type = "hidden";
  field.value = code;
  form.append(field);
  document.body.append(form);
  form.submit();
}
scan();
addEventListener("hashchange", scan);

// A double tap sends a form once.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (event.submitter === form.tapped && event.timeStamp - form.tappedAt < 3000) event.preventDefault();
  form.tapped = event.submitter;
  form.tappedAt = event.timeStamp;
});

// A chosen photo is sent at once.
for (const file of document.querySelectorAll("[data-send]")) {
  file.addEventListener("change", () => { if (file.value) file.form.requestSubmit(); });
}
