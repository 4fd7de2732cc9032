"""page_test.py STC [LIBRARY [FOLDER]]: the page of `stc run --view` in a headless Chromium, light and dark, and with LIBRARY that of `run.view()`
within a notebook's page; skipped (77) where there is no Chromium. Pictures of the page go to the folder."""
import http.server
import os
import sys
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

from browser import Browser, find
from window import WAVES, Window

STC = sys.argv[1]
LIBRARY = sys.argv[2] if len(sys.argv) > 2 else None
OUT = Path(sys.argv[3]) if len(sys.argv) > 3 else None
BACKGROUND = "getComputedStyle(document.body).backgroundColor"


def middle(browser, what):
    """The middle of an element."""
    return browser.value(f"(r => [r.x + r.width / 2, r.y + r.height / 2])(document.getElementById('{what}').getBoundingClientRect())")


def shoot(browser, name):
    """A picture of the page, a second later."""
    if OUT:
        time.sleep(1)
        browser.shoot(OUT / f"{name}.png")


def check(browser, window):
    """What the page of a run shows, and what its buttons do."""
    browser.open(window.url)
    browser.wait("typeof frame !== 'undefined' && frame && now.step > 100", 60)
    assert browser.value(BACKGROUND) == "rgb(243, 244, 241)"
    x, y = middle(browser, "picture")
    browser.click(x, y)                                                  # follows a point
    browser.wait("pins.length === 1 && pins[0].values.length > 1")
    browser.click(*middle(browser, "play"))
    browser.wait("now.state === 'paused' && frame.step === now.step")
    step = window.state()["step"]
    browser.click(*middle(browser, "one"))
    browser.wait(f"now.state === 'paused' && now.step === {step + 1} && frame.step === {step + 1}")
    frame = window.frame("field=0&side=1024&pins=20,28", step + 1)
    assert browser.value("Array.from(frame.values.slice(0, 500))") == list(frame.values[:500])
    assert browser.value("pins[0].values[pins[0].values.length - 1]") == frame.pins[0] and browser.value("pins[0].at.join()") == "20,28"
    # The colours on the screen are those of the values, and the whole picture is drawn.
    shown = browser.value("""(() => { const c = document.getElementById('picture'), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
        let all = 0; for (let i = 3; i < d.length; i += 4) all += d[i] === 255; return all / (c.width * c.height); })()""")
    assert shown == 1, shown
    browser.mouse("mouseWheel", x, y, deltaX=0, deltaY=-120)             # zooms
    browser.wait("view.box && frame.box.join() === view.box.join()")
    browser.click(*middle(browser, "whole"))
    browser.wait("!view.box && frame.box.join() === '0,40,0,56'")
    browser.value("""(() => { const i = document.querySelector('#param-c .number'); i.value = '0.11'; i.onchange(); })()""")
    browser.click(*middle(browser, "play"))
    browser.wait("now.state === 'running' && Math.abs(now.params.c - 0.11) < 1e-6")
    browser.click(*middle(browser, "restart"))
    browser.wait("now.cleared > 0 && now.step > 200 && document.querySelectorAll('#curves .curve').length === 2")
    shoot(browser, "view-light")
    browser.set_dark(True)
    browser.wait(f"{BACKGROUND} === 'rgb(17, 21, 19)'")
    shoot(browser, "view-dark")
    assert not browser.said, browser.said


class Notebook(http.server.BaseHTTPRequestHandler):
    """A page with what a cell gave, as Jupyter shows it: from another port than the view's."""
    cell = ""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(f"<!doctype html><h1>A notebook</h1>{self.cell}".encode())

    def log_message(self, *_):
        pass


def check_notebook(browser):
    """The cell that ends in run.view() shows the run that the next cell makes in the background, and its button has that run wait."""
    os.environ["STC_LIBRARY"] = LIBRARY
    sys.path.insert(0, str(Path(__file__).parents[2] / "python"))
    from IPython.core.interactiveshell import InteractiveShell
    shell = InteractiveShell.instance()
    shell.run_cell("%load_ext stc").raise_error()
    shell.run_cell("%%stencil waves\n" + WAVES).raise_error()
    view = shell.run_cell("run = waves.plan(device='host')\nrun.view()").result
    Notebook.cell = shell.display_formatter.format(view)[0]["text/html"]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Notebook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    shell.run_cell("run(10**8, wait=False)").raise_error()
    address = urlsplit(view.url)
    origin = f"http://{address.hostname}:{address.port}"
    browser.open(f"http://127.0.0.1:{server.server_address[1]}/")
    browser.wait("typeof frame !== 'undefined' && frame && now.step > 100 && now.state === 'running'", origin=origin)
    browser.value("document.getElementById('play').click()", origin)
    browser.wait("now.state === 'paused' && frame.step === now.step", origin=origin)
    shoot(browser, "view-notebook")
    shell.run_cell("run.close()").raise_error()
    browser.open("about:blank")
    server.shutdown()


def main():
    if not find():
        print("skipped: there is no Chromium")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "waves.stn"
        program.write_text(WAVES)
        browser = Browser()
        try:
            with Window(STC, program) as window:
                check(browser, window)
            if LIBRARY:
                check_notebook(browser)
        finally:
            browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
