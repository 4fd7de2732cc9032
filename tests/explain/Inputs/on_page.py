"""Does all that the drawings show lie on their page? Rectangles and lines by their corners; texts by their anchors and about their width."""
import sys
import xml.dom.minidom

for name in sys.argv[1:]:
    page = xml.dom.minidom.parse(name).documentElement
    width, height = float(page.getAttribute("width")), float(page.getAttribute("height"))

    def inside(x, y, what):
        assert -0.5 <= x <= width + 0.5 and -0.5 <= y <= height + 0.5, f"{name}: {what} at {x}, {y} is off the page of {width} x {height}"

    for r in page.getElementsByTagName("rect"):
        x, y, w, h = (float(r.getAttribute(k)) for k in ("x", "y", "width", "height"))
        assert w >= 0 and h >= 0, f"{name}: a rectangle of {w} x {h}"
        inside(x, y, "a rectangle")
        inside(x + w, y + h, "a rectangle")
    for r in page.getElementsByTagName("line"):
        inside(float(r.getAttribute("x1")), float(r.getAttribute("y1")), "a line")
        inside(float(r.getAttribute("x2")), float(r.getAttribute("y2")), "a line")
    for t in page.getElementsByTagName("text"):
        text, size, x = t.firstChild.data, float(t.getAttribute("font-size")), float(t.getAttribute("x"))
        long = 0.5 * size * len(text)
        x -= {"start": 0, "middle": long / 2, "end": long}[t.getAttribute("text-anchor")]
        inside(x, float(t.getAttribute("y")), text)
        inside(x + long, float(t.getAttribute("y")), text)
