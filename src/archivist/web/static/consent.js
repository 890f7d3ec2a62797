// Allow does nothing for the first 0.8 seconds after the page comes before the eyes: a click that was meant for
// another window must not land on it. The server refuses early answers by itself, also without this script.
"use strict";
(() => {
  const INERT = 800;
  const allow = document.querySelector("[data-inert]");
  let timer;
  const wake = () => allow.removeAttribute("aria-disabled");
  const rest = () => {
    allow.setAttribute("aria-disabled", "true");
    clearTimeout(timer);
    timer = setTimeout(wake, INERT);
  };
  allow.form.addEventListener("submit", (event) => {
    if (event.submitter === allow && allow.hasAttribute("aria-disabled")) event.preventDefault();
  });
  addEventListener("pageshow", rest);
  addEventListener("focus", rest);
  rest();
})();
