"""page_test.py STC [FOLDER]: the page of `stc run --view` in a headless Chromium, light and dark; skipped (77) where there is none. Pictures of it
go to the folder."""
import sys
import tempfile
import time
from pathlib import Path

from browser import Browser, find
from window import WAVES, Window

STC = sys.argv[1]
OUT = Path(sys.argv[2]) if len(sys.argv) > 2 else None


def middle(browser, what):
    """The middle of an element."""
    return browser.value(f"(r => [r.x + r.width / 2, r.y + r.height / 2])(document.getElementById('{what}').getBoundingClientRect())")


def check(browser, window, dark):
    browser.open(window.url)
    browser.wait("typeof frame !== 'undefined' && frame && now.step > 100", 60)
    assert browser.value("getComputedStyle(document.body).backgroundColor") == ("rgb(17, 21, 19)" if dark else "rgb(243, 244, 241)")
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
    assert not browser.said, browser.said
    if OUT:
        time.sleep(1)
        browser.shoot(OUT / f"view-{'dark' if dark else 'light'}.png")


def main():
    if not find():
        print("there is no Chromium")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "waves.stn"
        program.write_text(WAVES)
        for dark in (False, True):
            with Window(STC, program) as window:
                browser = Browser(dark=dark)
                try:
                    check(browser, window, dark)
                finally:
                    browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
