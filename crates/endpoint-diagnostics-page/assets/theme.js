// Dark, light, or as the system has it. The choice is kept by the browser.

import { byId, setText } from "./dom.js";

const CHOICES = ["auto", "light", "dark"];

function apply(choice) {
  const root = document.documentElement;
  if (choice === "auto") delete root.dataset.theme;
  else root.dataset.theme = choice;
  setText(byId("theme-word"), choice === "auto" ? "system" : choice);
}

const kept = () => {
  try {
    return localStorage.getItem("theme");
  } catch {
    return null;
  }
};

let choice = CHOICES.includes(kept()) ? kept() : "auto";
apply(choice);
byId("theme").addEventListener("click", () => {
  choice = CHOICES[(CHOICES.indexOf(choice) + 1) % CHOICES.length];
  apply(choice);
  try {
    localStorage.setItem("theme", choice);
  } catch {
    // For this page only.
  }
});
