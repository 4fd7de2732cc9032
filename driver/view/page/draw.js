// Drawing: maps of colours, pictures, curves. No state of the page's is in here.
"use strict";

const MAPS = {
  viridis: null,
  gray: [[0, 0, 0], [255, 255, 255]],
  coolwarm: [[59, 76, 192], [221, 221, 221], [180, 4, 38]],
  hot: [[0, 0, 0], [230, 0, 0], [255, 210, 0], [255, 255, 255]],
  bluered: [[0, 0, 90], [0, 80, 255], [255, 255, 255], [255, 60, 0], [90, 0, 0]],
};
// A polynomial that follows matplotlib's viridis, as driver/data/picture.c has it.
const VIRIDIS = [
  [0.2777273272, 0.0054073445, 0.3340998053], [0.1050930431, 1.4046135299, 1.3845901627],
  [-0.3308618287, 0.2148475595, 0.0950951630], [-4.6342304990, -5.7991009734, -19.3324409563],
  [6.2282699363, 14.1799333668, 56.6905526007], [4.7763849977, -13.7451453777, -65.3530326334],
  [-5.4354558559, 4.6458526122, 26.3124352495]];
const COLORS = 1024;
const NO_NUMBER = 0xffff00ff;      // magenta: NaN and infinities
const PIN_COLORS = ["#e11d48", "#2563eb", "#d97706", "#7c3aed", "#059669", "#db2777", "#0891b2", "#65a30d"];

// The colour of t in [0, 1] as three bytes.
function colorOf(name, t) {
  const stops = MAPS[name];
  if (!stops) {
    return [0, 1, 2].map(k => {
      let v = 0;
      for (let i = 6; i >= 0; i--)
        v = v * t + VIRIDIS[i][k];
      return Math.max(0, Math.min(255, Math.round(v * 255)));
    });
  }
  const below = Math.min(Math.floor(t * (stops.length - 1)), stops.length - 2), part = t * (stops.length - 1) - below;
  return [0, 1, 2].map(k => Math.round(stops[below][k] * (1 - part) + stops[below + 1][k] * part));
}

// A map as COLORS pixels, each one number as ImageData has it.
function tableOf(name) {
  const table = new Uint32Array(COLORS);
  for (let i = 0; i < COLORS; i++) {
    const [r, g, b] = colorOf(name, i / (COLORS - 1));
    table[i] = 0xff000000 | b << 16 | g << 8 | r;
  }
  return table;
}

// Draws a frame's values to the canvas, which becomes as large as the frame.
function drawValues(canvas, frame, table, low, high) {
  const { width, height, values } = frame;
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
  }
  const context = canvas.getContext("2d"), image = context.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer), scale = high > low ? (COLORS - 1) / (high - low) : 0;
  const middle = scale ? 0 : COLORS >> 1;
  for (let i = 0; i < values.length; i++) {
    const v = values[i], at = (v - low) * scale + middle;
    pixels[i] = v - v !== 0 ? NO_NUMBER : table[at <= 0 ? 0 : at >= COLORS - 1 ? COLORS - 1 : at + 0.5 | 0];
  }
  context.putImageData(image, 0, 0);
}

// Draws the map itself, from left to right.
function drawRamp(canvas, table) {
  const width = Math.max(2, canvas.clientWidth);
  canvas.width = width;
  const context = canvas.getContext("2d"), image = context.createImageData(width, canvas.height);
  const pixels = new Uint32Array(image.data.buffer);
  for (let i = 0; i < pixels.length; i++)
    pixels[i] = table[Math.floor(i % width / (width - 1) * (COLORS - 1))];
  context.putImageData(image, 0, 0);
}

// A canvas's context in CSS pixels, wiped.
function cleared(canvas) {
  const ratio = window.devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
  canvas.width = Math.round(w * ratio);
  canvas.height = Math.round(h * ratio);
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  return [context, w, h];
}

// The colour of that name in the page's style.
function styled(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }

// A number for people.
function tell(v, digits = 5) {
  if (v === null || v === undefined || Number.isNaN(v))
    return "NaN or infinite";
  if (v === 0 || !Number.isFinite(v) || (Number.isInteger(v) && Math.abs(v) < 1e9))
    return String(v);
  const a = Math.abs(v);
  return a >= 1e5 || a < 1e-3 ? v.toExponential(digits - 2) : String(Number(v.toPrecision(digits)));
}

// Draws values over places in a canvas, with the least and the greatest beside it; values that are NaN leave a gap.
// Positive ones over more than three decades are drawn by their logarithms. Returns whether that is so.
function drawCurve(canvas, xs, ys, { color, labels = true, zero = false } = {}) {
  const [context, w, h] = cleared(canvas);
  let low = Infinity, high = -Infinity;
  for (const y of ys)
    if (y !== null && Number.isFinite(y)) {
      low = Math.min(low, y);
      high = Math.max(high, y);
    }
  if (low > high || w < 10)
    return false;
  const by_log = labels && low > 0 && high / low > 1000, f = by_log ? Math.log10 : v => v;
  if (zero)
    low = Math.min(low, 0);
  const bottom = f(low), top = f(high), span = top - bottom || 1, from = xs[0], all = xs[xs.length - 1] - from || 1;
  const x = i => (xs[i] - from) / all * (w - 4) + 2, y = v => top === bottom ? h / 2 : h - 4 - (f(v) - bottom) / span * (h - 8);
  context.strokeStyle = color || styled("--curve");
  context.lineWidth = 1.5;
  context.lineJoin = "round";
  context.beginPath();
  let down = false;
  for (let i = 0; i < ys.length; i++) {
    if (ys[i] === null || !Number.isFinite(ys[i])) {
      down = false;
      continue;
    }
    context[down ? "lineTo" : "moveTo"](x(i), y(ys[i]));
    if (!down && i === ys.length - 1)
      context.lineTo(x(i) + 1, y(ys[i]));
    down = true;
  }
  context.stroke();
  if (labels) {
    context.font = "10px system-ui, sans-serif";
    context.fillStyle = styled("--soft");
    context.strokeStyle = styled("--card");
    context.lineWidth = 3;
    for (const [text, at] of [[tell(high, 4), 10], [tell(low, 4), h - 2]]) {
      if (low === high && at !== 10)
        continue;
      context.strokeText(text, 2, at);
      context.fillText(text, 2, at);
    }
  }
  return by_log;
}

// Draws a field of one dimension as a line with its scale, in place of a picture.
function drawLine(canvas, frame, low, high) {
  const [context, w, h] = cleared(canvas), { width, values } = frame, pad = 14;
  context.strokeStyle = styled("--line");
  context.lineWidth = 1;
  for (let i = 0; i <= 4; i++) {
    const y = Math.round(pad + i / 4 * (h - 2 * pad)) + .5;
    context.beginPath();
    context.moveTo(0, y);
    context.lineTo(w, y);
    context.stroke();
  }
  context.strokeStyle = styled("--curve");
  context.lineWidth = 2;
  context.lineJoin = "round";
  context.beginPath();
  let down = false;
  for (let i = 0; i < width; i++) {
    if (!Number.isFinite(values[i])) {
      down = false;
      continue;
    }
    const t = high > low ? (values[i] - low) / (high - low) : .5;
    context[down ? "lineTo" : "moveTo"]((i + .5) / width * w, h - pad - t * (h - 2 * pad));
    down = true;
  }
  context.stroke();
}
