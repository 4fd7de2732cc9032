"""cost.py STC N PROGRAM WORD...: how much slower a run is for being watched, in percent: N runs as they are, N with a page that nobody opens, N with
one whose events and pictures are read as fast as they come, in turns. Each run's speed is what `--time` prints; the seconds are those from its start to that line, without compiling."""
import json
import re
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from urllib.parse import urlsplit


def follow_events(url, seen, stop):
    """Reads the events of a page until `stop` is set; the last one's state is seen["state"]."""
    where = urlsplit(url)
    with socket.create_connection((where.hostname, where.port), timeout=1) as s:
        s.sendall(f"GET {where.path}events HTTP/1.1\r\nHost: {where.netloc}\r\n\r\n".encode())
        while not stop.is_set():
            try:
                for line in s.recv(1 << 16).split(b"\n"):
                    if line.startswith(b"data: ") and line.endswith(b"}"):
                        seen["state"] = json.loads(line[6:])["state"]
                        seen["events"] += 1
            except socket.timeout:
                pass


def follow_pictures(url, seen, stop):
    """Asks for pictures of the first field, each time for a newer one."""
    number = 0
    while not stop.is_set():
        try:
            with urllib.request.urlopen(f"{url}frame?field=0&side=1024&have={number}", timeout=5) as r:
                data = r.read()
        except (urllib.error.URLError, OSError):
            data = b""
        if len(data) > 40:
            seen["pictures"] += 1
            number = int.from_bytes(data[24:32], "little")
        else:
            time.sleep(0.01)


def run(words, watched):
    """The speed and seconds of a run, and how many events and pictures there were."""
    began = time.monotonic()
    seen, stop, readers, said = {"state": "", "events": 0, "pictures": 0}, threading.Event(), [], ""
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr:
            found = re.match(r"view: (\S+)$", line)
            if found and watched:
                readers = [threading.Thread(target=f, args=(found[1], seen, stop)) for f in (follow_events, follow_pictures)]
                for reader in readers:
                    reader.start()
            if found:
                break
        for said in process.stdout:
            if said.startswith("{"):
                break
        seconds = time.monotonic() - began
        stop.set()
        for reader in readers:
            reader.join()
        if process.poll() is None and "--view" in words:
            process.send_signal(signal.SIGINT)
        process.communicate()
    told = json.loads(said)
    return told["gpts"], seconds - told["compile_seconds"], seen


def main(stc, times, *words):
    speeds, walls, total = {"plain": [], "a page": [], "watched": []}, {"plain": [], "a page": [], "watched": []}, {"events": 0, "pictures": 0}
    for _ in range(int(times)):
        for how, more in (("plain", []), ("a page", ["--view"]), ("watched", ["--view"])):
            speed, wall, seen = run([stc, "run", "--time", "--quiet", *more, *words], how == "watched")
            speeds[how].append(speed)
            walls[how].append(wall)
            for name in total:
                total[name] += seen[name]
    plain = statistics.median(speeds["plain"])
    for how, values in speeds.items():
        middle = statistics.median(values)
        print(f"{how:8} {middle:9.4g} GPts/s, {100 * (1 - middle / plain):+.2f} % slower; {min(values):.4g} to {max(values):.4g}; "
              f"{statistics.median(walls[how]):.3f} s")
    print(f"{total['events'] / len(speeds['watched']):.0f} events and {total['pictures'] / len(speeds['watched']):.0f} pictures a run")


if __name__ == "__main__":
    main(*sys.argv[1:])
