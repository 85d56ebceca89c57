"use strict";
const about = JSON.parse(document.getElementById("about").textContent);
const element = id => document.getElementById(id);
const NAMES = ["z", "y", "x"];
// The axes down and along the plane across each axis.
const AXES = [[1, 2], [0, 2], [0, 1]];
// Values along the longer side of a plane, at most; columns are read one value at a time.
const MOST = [1024, 1024, 512];
const ARRAYS = { u8: Uint8Array, u16: Uint16Array, f32: Float32Array };
const [slope, offset] = about.scale;
const { step: sides, first: begin, millimetres, axis: placed } = about.places;

let at = about.shape.map(n => Math.floor(n / 2));
const contrast = { low: 0, high: 1, range: [0, 1], set: false };

// What is shown of each plane: its first place, and how many places, down and along.
const whole = across => AXES[across].map(axis => ({ first: 0, count: about.shape[axis] }));
const planes = [0, 1, 2].map(across => ({ across, shown: whole(across), places: null, values: null, busy: false, again: false }));

const digits = v => {
    if (!Number.isFinite(v)) return String(v);
    const size = Math.abs(v);
    return v === 0 || (size >= 1e-3 && size < 1e5) ? String(Number(v.toPrecision(6))) : v.toExponential(4);
};
const decimals = millimetres ? Math.min(9, Math.max(0, 1 - Math.floor(Math.log10(Math.min(...sides))))) : 1;
const place = (axis, k) => (k + begin[axis]) * sides[axis];
const told = (axis, k) => `${NAMES[axis]} ${place(axis, k).toFixed(decimals)} ${millimetres ? "mm" : "pixels"} (${k})`;
const meant = stored => stored * slope + offset;

function problem(text) {
    element("problem").textContent = text;
    element("problem").hidden = !text;
}

// The places of which values are wanted.
function wanted(plane) {
    const longest = Math.max(...plane.shown.map(side => side.count));
    const step = Math.max(1, Math.ceil(longest / MOST[plane.across]));
    return plane.shown.map(({ first, count }) => ({ first, count: Math.floor((count - 1) / step) + 1, step }));
}

async function read(plane, places, k) {
    if (about.planes) {
        const kept = about.planes[plane.across];
        const bytes = Uint8Array.from(atob(kept.values), c => c.charCodeAt(0));
        return [kept.places, bytes.buffer];
    }
    const list = ({ first, count, step }) => `${first},${count},${step}`;
    const answer = await fetch(`plane?across=${NAMES[plane.across]}&at=${k}&down=${list(places[0])}&along=${list(places[1])}`);
    if (!answer.ok) throw new Error(await answer.text() || answer.statusText);
    return [places, await answer.arrayBuffer()];
}

// One request of a plane at a time; where more was asked for in the meantime, the last of it counts.
async function load(plane) {
    if (plane.busy) {
        plane.again = true;
        return;
    }
    plane.busy = true;
    try {
        do {
            plane.again = false;
            const k = at[plane.across];
            const [places, bytes] = await read(plane, wanted(plane), k);
            Object.assign(plane, { places, values: new ARRAYS[about.dtype](bytes), k });
            problem("");
            draw(plane);
        } while (plane.again);
    } catch (error) {
        problem(error instanceof TypeError ? "the program does not answer: is it still running?" : error.message);
    }
    plane.busy = false;
    tell();
}

function draw(plane) {
    const [down, along] = plane.places;
    const { canvas } = plane;
    if (canvas.width !== along.count || canvas.height !== down.count) {
        [canvas.width, canvas.height] = [along.count, down.count];
    }
    const [high, wide] = plane.places.map((side, n) => side.count * side.step * sides[AXES[plane.across][n]]);
    canvas.style.aspectRatio = `${wide} / ${high}`;
    const drawing = canvas.getContext("2d");
    const image = drawing.createImageData(along.count, down.count);
    const pixels = new Uint32Array(image.data.buffer);
    const factor = 255 / (contrast.high - contrast.low);
    plane.values.forEach((stored, k) => {
        const grey = Math.min(255, Math.max(0, Math.round((meant(stored) - contrast.low) * factor)));
        // What is no number is red.
        pixels[k] = Number.isNaN(grey) ? 0xff0000ff : 0xff000000 | grey * 0x010101;
    });
    drawing.putImageData(image, 0, 0);
    mark(plane);
}

// Lines through the place that the other planes are at, and a bar of a round length.
function mark(plane) {
    if (!plane.places) return;
    ["down", "along"].forEach((side, n) => {
        const { first, count, step } = plane.places[n];
        const share = (at[AXES[plane.across][n]] - first + 0.5) / (count * step);
        plane.lines[n].hidden = share < 0 || share > 1;
        plane.lines[n].style[n === 0 ? "top" : "left"] = `${100 * share}%`;
    });
    const along = plane.places[1];
    const length = along.count * along.step * sides[AXES[plane.across][1]];
    const power = 10 ** Math.floor(Math.log10(length / 4));
    const bar = [5, 2, 1].map(k => k * power).find(bar => bar <= length / 4) || power;
    plane.bar.style.width = `${100 * bar / length}%`;
    const micrometres = millimetres && bar < 0.1;
    plane.bar.textContent = `${Number((micrometres ? bar * 1e3 : bar).toPrecision(1))} ${micrometres ? "\u00b5m" : millimetres ? "mm" : "px"}`;
}

function value(plane, [d, a]) {
    const k = [d, a].map((voxel, n) => Math.floor((voxel - plane.places[n].first) / plane.places[n].step));
    const inside = k.every((k, n) => k >= 0 && k < plane.places[n].count);
    return inside ? meant(plane.values[k[0] * plane.places[1].count + k[1]]) : NaN;
}

// A place and its value in words.
const sentence = (voxel, v) => `${digits(v)}${about.unit ? " " + about.unit : ""}\n${[2, 1, 0].map(axis => told(axis, voxel[axis])).join("\n")}`;

function tell() {
    const plane = planes[0];
    planes.forEach(({ across, text, slider }) => {
        slider.value = at[across];
        text.textContent = `${told(across, at[across])} of 0 to ${about.shape[across] - 1}`;
    });
    planes.forEach(mark);
    if (planes.every(plane => plane.values)) {
        if (!contrast.set) spread(0.002);
        histogram();
        // The value at the cross, of the plane that has it among its values.
        const own = planes.find(plane => plane.k === at[plane.across] && plane.places.every(
            ({ first, step }, n) => (at[AXES[plane.across][n]] - first) % step === 0)) || plane;
        const shown = [...at];
        AXES[own.across].forEach((axis, n) => {
            const { first, step } = own.places[n];
            shown[axis] = first + Math.floor((at[axis] - first) / step) * step;
        });
        shown[own.across] = own.k;
        element("cross").textContent = sentence(shown, value(own, AXES[own.across].map(axis => at[axis])));
        document.documentElement.dataset.ready = String(planes.every(plane => !plane.busy));
    }
}

// Values of all planes, some of them, in their order.
function sorted() {
    const all = planes.reduce((sum, plane) => sum + plane.values.length, 0);
    const step = Math.max(1, Math.floor(all / 200000)) | 1;
    const some = [];
    planes.forEach(({ values }) => {
        for (let k = 0; k < values.length; k += step) {
            const v = meant(values[k]);
            if (Number.isFinite(v)) some.push(v);
        }
    });
    return Float64Array.from(some.length ? some : [0]).sort();
}

// Contrast over all values but such a part at either end.
function spread(part) {
    const some = sorted();
    const of = share => some[Math.round(share * (some.length - 1))];
    contrast.range = [of(0), of(1)];
    if (part > 0) {
        const [low, high] = [of(part / 4), of(1 - part / 4)], beyond = (high - low) / 4;
        contrast.range = [Math.max(of(0), low - beyond), Math.min(of(1), high + beyond)];
    }
    windowed(of(part), of(1 - part));
}

// Shows values from one to another as black to white.
function windowed(low, high) {
    if (!(Number.isFinite(low) && Number.isFinite(high))) return;
    if (!(high > low)) high = low + (Math.abs(low) || 1) * 1e-6;
    Object.assign(contrast, { low, high, set: true });
    contrast.range = [Math.min(contrast.range[0], low), Math.max(contrast.range[1], high)];
    const [from, to] = contrast.range;
    for (const [name, v] of [["low", low], ["high", high]]) {
        element(name).value = 1000 * (v - from) / (to - from);
        element(`${name}-number`).value = digits(v);
        element(`scale-${name}`).textContent = digits(v);
    }
    planes.filter(plane => plane.values).forEach(draw);
    if (planes.every(plane => plane.values)) histogram();
}

function histogram() {
    const [from, to] = contrast.range;
    const bars = new Array(128).fill(0);
    planes.forEach(({ values }) => values.forEach(stored => {
        const bar = Math.floor((meant(stored) - from) / (to - from) * bars.length);
        if (bar >= 0 && bar < bars.length) bars[bar] += 1;
    }));
    // Air, of which there is most, is cut off, so that the rest is seen.
    const order = [...bars].sort((a, b) => b - a), most = Math.max(1, Math.min(order[0], 2 * order[2]));
    const path = bars.map((n, k) => `M${2 * k} 80V${(80 - 78 * Math.min(1, n / most)).toFixed(1)}h2V80z`).join("");
    document.querySelector("#histogram path").setAttribute("d", path);
    for (const name of ["low", "high"]) {
        const x = 256 * (contrast[name] - from) / (to - from);
        for (const [key, v] of [["x1", x], ["x2", x], ["y1", 0], ["y2", 80]]) element(`at-${name}`).setAttribute(key, v);
    }
}

// Moves to a place; planes across it follow.
function move(voxel) {
    const next = voxel.map((k, axis) => Math.min(about.shape[axis] - 1, Math.max(0, Math.round(k))));
    const moved = planes.filter(({ across }) => next[across] !== at[across]);
    at = next;
    tell();
    if (!about.planes) {
        moved.forEach(load);
        history.replaceState(null, "", `#${NAMES.map((name, axis) => `${name}=${at[axis]}`).join("&")}`);
    }
}

// The voxel below the pointer.
function below(plane, event) {
    const box = plane.canvas.getBoundingClientRect();
    const share = [(event.clientY - box.top) / box.height, (event.clientX - box.left) / box.width];
    const voxel = [...at];
    voxel[plane.across] = plane.k;
    AXES[plane.across].forEach((axis, n) => {
        const { first, count, step } = plane.places[n];
        voxel[axis] = first + Math.min(count - 1, Math.max(0, Math.floor(share[n] * count))) * step;
    });
    return voxel;
}

// Shows a larger or smaller part about a voxel.
function zoom(plane, voxel, factor) {
    plane.shown = plane.shown.map(({ first, count }, n) => {
        const axis = AXES[plane.across][n], all = about.shape[axis];
        const next = Math.min(all, Math.max(Math.min(all, 8), Math.round(count * factor)));
        const start = Math.round(voxel[axis] - (voxel[axis] - first) * next / count);
        return { first: Math.min(all - next, Math.max(0, start)), count: next };
    });
    load(plane);
}

function make(plane) {
    const { across } = plane, figure = document.createElement("figure"), caption = document.createElement("figcaption");
    const add = (to, name, set) => to.appendChild(Object.assign(document.createElement(name), set));
    const [down, along] = AXES[across];
    add(caption, "b", { textContent: `${NAMES[along]} to the right, ${NAMES[down]} down` });
    plane.text = add(caption, "span", {});
    const box = add(figure, "div", { className: "plane" });
    plane.canvas = add(box, "canvas", {});
    plane.lines = ["down", "along"].map(side => add(box, "i", { className: side }));
    plane.bar = add(box, "b", {});
    plane.slider = add(figure, "input", { type: "range", min: 0, max: about.shape[across] - 1, step: 1, disabled: Boolean(about.planes) });
    plane.slider.setAttribute("aria-label", `place along ${NAMES[across]}`);
    figure.append(caption);
    const through = k => at.map((own, axis) => axis === across ? k : own);
    plane.slider.addEventListener("input", () => move(through(Number(plane.slider.value))));
    box.addEventListener("pointermove", event => {
        if (!plane.values) return;
        const voxel = below(plane, event);
        element("pointer").textContent = sentence(voxel, value(plane, AXES[across].map(axis => voxel[axis])));
        if (event.buttons & 1 && !about.planes) move(voxel);
    });
    box.addEventListener("pointerleave", () => { element("pointer").textContent = "\u2013"; });
    if (!about.planes) {
        box.addEventListener("pointerdown", event => plane.values && move(below(plane, event)));
        box.addEventListener("dblclick", () => { plane.shown = whole(across); load(plane); });
        box.addEventListener("wheel", event => {
            event.preventDefault();
            if (!plane.values || !event.deltaY && !event.deltaX) return;
            const towards = Math.sign(event.deltaY || event.deltaX);
            if (event.shiftKey || event.ctrlKey) zoom(plane, below(plane, event), towards > 0 ? 1.25 : 0.8);
            else move(through(at[across] + towards));
        }, { passive: false });
    }
    element("planes").append(figure);
}

// A place in the address, as in #z=10&y=20&x=30.
function addressed() {
    const given = new URLSearchParams(location.hash.slice(1));
    return about.shape.map((n, axis) => {
        const k = Number.parseInt(given.get(NAMES[axis]) ?? "", 10);
        return Number.isInteger(k) ? Math.min(n - 1, Math.max(0, k)) : at[axis];
    });
}

const of = id => Number(element(id).value) / 1000 * (contrast.range[1] - contrast.range[0]) + contrast.range[0];
element("low").addEventListener("input", () => windowed(Math.min(of("low"), contrast.high), contrast.high));
element("high").addEventListener("input", () => windowed(contrast.low, Math.max(of("high"), contrast.low)));
for (const name of ["low", "high"]) {
    element(`${name}-number`).addEventListener("change", () => {
        windowed(Number.parseFloat(element("low-number").value), Number.parseFloat(element("high-number").value));
    });
}
element("most").addEventListener("click", () => spread(0.002));
element("all").addEventListener("click", () => spread(0));
element("facts").textContent = `${about.facts}; places are from the ${placed ? "rotation axis and the detector's middle row" : "volume's middle"}`;
element("help").textContent = about.planes
    ? "Three planes through the middle, every so many values of a large volume."
    : "Wheel: through the slices. Click or drag: the place that the other planes go through. Shift and wheel: larger or smaller; double click: all of it. A large plane shows every so many values.";
planes.forEach(make);
if (!about.planes) {
    at = addressed();
    addEventListener("hashchange", () => move(addressed()));
}
tell();
planes.forEach(load);
