"""rebuild.py FROM TO WAY: copies an executable as another build of it would be: "id": with another build id; "none": with none; "content": with none, and another text in it."""
import shutil
import sys

old, new, way = sys.argv[1:]
data = bytearray(open(old, "rb").read())
NOTE = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0"
note = data.index(NOTE)
if way == "id":
    data[note + len(NOTE)] ^= 1
else:
    data[note + 8] = 0x77
if way == "content":
    text = data.index(b"this CPU, all cores")
    data[text] = ord("T")
open(new, "wb").write(data)
shutil.copymode(old, new)
