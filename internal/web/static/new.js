// The input itself is invisible: show the name of the chosen file. With a file, the form shows its progress.
for (const input of document.querySelectorAll(".drop > input[type=file]")) {
  input.addEventListener("change", () => {
    const label = input.parentElement.querySelector("[data-chosen]");
    label.dataset.empty ??= label.textContent;
    label.textContent = input.files[0]?.name ?? label.dataset.empty;
    if (input.files[0]) input.form.dataset.progress = "";
  });
}
