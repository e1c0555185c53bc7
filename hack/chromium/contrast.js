// The texts of the page whose contrast with their background is too low (WCAG 2.2, 1.4.3 and 1.4.11).
() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const background = (node) => {
    for (let at = node; at !== null; at = at.parentElement) {
      const color = rgba(getComputedStyle(at).backgroundColor);
      if (color[3] === 255) return color;
      if (color[3] !== 0) throw new Error("a background is translucent");
    }
    throw new Error("no background");
  };
  const luminance = ([red, green, blue]) => {
    const part = (value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part(red) + 0.7152 * part(green) + 0.0722 * part(blue);
  };
  const ratio = (one, other) => {
    const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  };
  const found = [];
  let lowest = Infinity;
  let texts = 0;
  const judge = (what, color, under, least) => {
    const value = ratio(color, under);
    texts += 1;
    lowest = Math.min(lowest, value);
    if (value < least) found.push(`${what}: ${value.toFixed(2)} of ${least}`);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (walker.currentNode.data.trim() === "" || !node.checkVisibility() || node.closest(".unseen, noscript")) continue;
    judge(`"${walker.currentNode.data.trim().slice(0, 40)}"`, rgba(getComputedStyle(node).color), background(node), 4.5);
  }
  const words = document.getElementById("words");
  judge("placeholder", rgba(getComputedStyle(words, "::placeholder").color), background(words), 4.5);
  judge("border of the filter", rgba(getComputedStyle(words).borderTopColor), background(words.parentElement), 3);
  const focused = document.activeElement;
  const style = getComputedStyle(focused);
  if (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 2) found.push("the focus is not visible");
  judge("focus", rgba(style.outlineColor), background(focused.parentElement), 3);
  return { found, lowest, texts, paper: getComputedStyle(document.body).backgroundColor };
};
