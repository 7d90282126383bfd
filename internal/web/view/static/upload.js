// Forms with files. See app.js.
const one = (selector, root = document) => root.querySelector(selector);

// The input itself is invisible: show the names of the chosen files. With a file, a form that can shows its progress.
document.addEventListener("change", ({ target: input }) => {
  const label = input.matches(".drop > input[type=file]") && input.parentElement.querySelector("[data-chosen]");
  if (!label) return;
  label.dataset.empty ??= label.textContent;
  label.textContent = Array.from(input.files, (file) => file.name).join(", ") || label.dataset.empty;
  if (input.files[0] && input.form.querySelector("progress")) input.form.dataset.progress = "";
});

// A form stays on its page if the session ended: leaving it would lose the files. The person signs in in another tab
// and sends it again.
function signedOut(form) {
  const notice = one("[data-signed-out]", form) || one("#signed-out").content.firstElementChild.cloneNode(true);
  form.prepend(notice);
  notice.focus();
}

// Show the progress of an upload. A response without a redirect, such as an error, replaces the form. If the request
// fails, the browser sends the form itself and shows the network error.
document.addEventListener("submit", (event) => {
  const form = event.target, by = event.submitter;
  if (!form.matches("[data-progress]")) return;
  event.preventDefault();
  const bar = one("progress", form), button = by || one("button", form), request = new XMLHttpRequest();
  const body = new FormData(form, by), to = new URL(form.getAttribute("action"), location).href; // a button may be named action
  const sending = (on) => { bar.hidden = !on; button.disabled = on; };
  sending(true);
  request.upload.onprogress = ({ loaded, total }) => { bar.max = total; bar.value = loaded; };
  const again = () => { sending(false); form.sentAt = -Infinity; };
  request.onerror = () => { again(); delete form.dataset.progress; form.requestSubmit(by); };
  request.onload = () => {
    const app = request.response?.querySelector(".app");
    if (request.status === 401 && one("#signed-out")) { again(); signedOut(form); }
    else if (!app || request.responseURL !== to) location.href = request.responseURL;
    else {
      one(".app").replaceWith(app);
      window.htmx?.process(app);
      (one("main [autofocus]", app) || one("#main")).focus();
    }
  };
  request.open("POST", to);
  request.responseType = "document";
  request.setRequestHeader("Accept", "text/html");
  request.send(body);
});
