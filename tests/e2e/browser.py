#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Shows pages in headless Chromium, and prints what is wrong with each, a line for each fault.

    browser.py CHROMIUM PROFILE, with lines on standard input: WIDTHxHEIGHT light|dark|print|noscript PAGE [EXPRESSION]

Speaks the DevTools protocol over a pipe (file descriptors 3 and 4 of the browser). With EXPRESSION, prints the value of that JavaScript instead.
"""
import json
import os
import subprocess
import sys

FAULTS = r"""(() => {
const faults = [], root = document.documentElement;
const bright = c => c.slice(0, 3).map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
	.reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
const parts = text => text.match(/[\d.]+/g).map(Number);
const ground = e => {
	for (; e; e = e.parentElement) {
		const c = getComputedStyle(e).backgroundColor;
		if (c.startsWith("rgb") && (parts(c).length < 4 || parts(c)[3]))
			return parts(c);
	}
	return matchMedia("(prefers-color-scheme: dark)").matches && !matchMedia("print").matches ? [18, 18, 18] : [255, 255, 255];
};
const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
let texts = 0;
while (walk.nextNode()) {
	const node = walk.currentNode, e = node.parentElement, range = document.createRange();
	range.selectNodeContents(node);
	const box = range.getBoundingClientRect(), style = getComputedStyle(e);
	if (!node.textContent.trim() || !box.width || style.visibility === "hidden")
		continue;
	texts++;
	const [p, q] = [bright(parts(e.closest("svg") ? style.fill : style.color)), bright(ground(e))].sort((p, q) => q - p);
	if ((p + .05) / (q + .05) < 4.5)
		faults.push(`too little contrast, ${((p + .05) / (q + .05)).toFixed(1)}: ${node.textContent}`);
	if (!e.closest(".scroll") && (box.right > root.clientWidth + 1 || box.left < -1))
		faults.push(`outside of the window: ${node.textContent}`);
}
if (!texts)
	faults.push("no text");
if (root.scrollWidth > root.clientWidth)
	faults.push(`the page is ${root.scrollWidth} wide, the window ${root.clientWidth}`);
if (root.clientWidth >= 800)
	document.querySelectorAll(".scroll").forEach(e => e.scrollWidth > e.clientWidth && faults.push(`a table is cut off: ${e.textContent.slice(0, 60)}`));
document.querySelectorAll(".plot svg").forEach(picture => {
	const room = picture.parentElement.getBoundingClientRect();
	const labels = [...picture.querySelectorAll("text")].map(e => [e.textContent, e.getBoundingClientRect()]).filter(l => l[1].width);
	labels.forEach(([name, box], i) => {
		if (box.left < room.left || box.right > room.right)
			faults.push(`a label is outside of its plot: ${name}`);
		for (const [other, b] of labels.slice(i + 1))
			if (Math.min(box.right, b.right) > Math.max(box.left, b.left) && Math.min(box.bottom, b.bottom) > Math.max(box.top, b.top) + 2)
				faults.push(`labels overlap: ${name}, ${other}`);
	});
});
return faults;
})()"""


class Browser:
    def __init__(self, program, profile):
        out_child, self.out = os.pipe()
        self.inp, in_child = os.pipe()

        def ends():
            a, b = os.dup(out_child), os.dup(in_child)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars", "--disable-background-networking",
             "--disable-component-update", "--disable-sync", "--user-data-dir=" + profile, "--remote-debugging-pipe"],
            preexec_fn=ends, close_fds=False, stderr=subprocess.DEVNULL)
        os.close(out_child)
        os.close(in_child)
        self.buffer, self.sent, self.events, self.session = b"", 0, [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")

    def message(self):
        while b"\0" not in self.buffer:
            data = os.read(self.inp, 1 << 20)
            if not data:
                raise EOFError("the browser ended")
            self.buffer += data
        one, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(one)

    def call(self, method, **params):
        self.sent += 1
        session = {"sessionId": self.session} if self.session else {}
        data = json.dumps({"id": self.sent, "method": method, "params": params, **session}).encode() + b"\0"
        while data:
            data = data[os.write(self.out, data):]
        while True:
            one = self.message()
            if one.get("id") != self.sent:
                self.events.append(one)
            elif "error" in one:
                raise RuntimeError("%s: %s" % (method, one["error"]))
            else:
                return one["result"]

    def show(self, page, size, how):
        width, height = map(int, size.split("x"))
        self.events = []
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", media="print" if how == "print" else "",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if how == "dark" else "light"}])
        self.call("Emulation.setScriptExecutionDisabled", value=how == "noscript")
        self.call("Page.navigate", url="file://" + os.path.abspath(page))
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.events.append(self.message())

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(json.dumps(result["exceptionDetails"]))
        return result["result"].get("value")

    def console(self):
        """What the console shows: messages, exceptions, what the browser itself says."""
        return ["console: " + str(e["params"].get("exceptionDetails", {}).get("exception", {}).get("description") or json.dumps(e["params"]))[:400] for e in self.events
                if e.get("method") in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")]

    def close(self):
        self.call("Browser.close")
        self.process.wait(20)


def main():
    """Commands are lines of fields with tabs between; each reply ends with a line "end"."""
    browser = Browser(*sys.argv[1:3])
    try:
        for line in sys.stdin:
            size, how, page, *expression = line.rstrip("\n").split("\t")
            try:
                browser.show(page, size, how)
                found = [browser.value(expression[0])] if expression else browser.value(FAULTS) + browser.console()
            except (RuntimeError, ValueError) as e:
                found = ["browser.py: %s" % e]
            for text in dict.fromkeys(found):
                print(str(text).replace("\n", " "))
            print("end", flush=True)
        browser.close()
    finally:
        browser.process.kill()


main()
