"""What in a RUN line lets a command fail unseen: things that bash excepts from `set -e`, which tests/runlines.py puts over every test.

    a && b; c           where a fails c goes on: write `a; b; c`
    { a; b; } && c      inside the braces `set -e` has no effect, nor in a loop, an `if` or brackets before `&&` or `||`
    ! a                 passes whatever a does: write `not a`
    a || true           is no test of a: write `r=0; a || r=$?; test $r = 2`
    set -e              is on already; where it was needed the line is one of the above

`a || exit 1` and `a && b || exit 1` are all right anywhere, and so is `a && b` at a line's end.
"""
import dataclasses
import re

OPAQUE = re.compile(r"'[^']*'|\"(?:\\.|\$\([^)]*\)|[^\"\\])*\"|\\.|`[^`]*`|\$\{[^}]*\}|\$\?|\$#|[0-9]*[<>]&[0-9-]+|&>|%\{[^}]*\}")
TOKEN = re.compile(r"\s*(&&|\|\||;;|[;&|()]|(?:\$\(|[^\s;&|()])+)")
HARMLESS = re.compile(r"(?:\w+\+?=.*|echo|printf|sleep|set|shift|true|:|trap|exit)$")


@dataclasses.dataclass
class Command:
    """A command: its words, or the lists within it (`kind` is the word or bracket that opens it)."""
    kind: str
    words: list
    lists: list


class Parser:
    """Takes a RUN line apart: a list is of items, an item (commands joined by && and ||, the joints), a command a list of a pipe's."""

    def __init__(self, text):
        self.tokens, self.at = TOKEN.findall(hidden(text)), 0

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def take(self):
        self.at += 1
        return self.tokens[self.at - 1]

    def list(self, ends):
        """The items up to one of the tokens, which is taken."""
        items = []
        while self.peek() is not None and self.peek() not in ends:
            start = self.at
            items.append(self.item(ends))
            if self.at == start:
                raise ValueError(f"unexpected {self.take()}")
            if self.peek() in (";", "&"):
                if self.take() == "&":
                    items.pop()   # beside the rest: its status is nobody's
        if self.peek() is not None:
            self.take()
        return items

    def item(self, ends):
        pipes, joints = [self.pipe(ends)], []
        while self.peek() in ("&&", "||"):
            joints.append(self.take())
            pipes.append(self.pipe(ends))
        return pipes, joints

    def pipe(self, ends):
        commands = [self.command(ends)]
        while self.peek() == "|":
            self.take()
            commands.append(self.command(ends))
        return commands

    def command(self, ends):
        word, lists, words = self.peek(), [], []
        if self.tokens[self.at + 1:self.at + 3] == ["(", ")"]:   # a function: its body is a command
            self.at += 3
            return self.command(ends)
        if word in ("(", "{"):
            self.take()
            lists = [self.list([")" if word == "(" else "}"])]
        elif word in ("for", "while", "until"):
            while self.peek() not in (None, "do"):
                self.take()
            self.take()
            lists = [self.list(["done"])]
        elif word == "if":
            while self.peek() not in (None, "then"):
                self.take()
            while self.peek() is not None:
                self.take()
                lists.append(self.list(["else", "elif", "fi"]))
                if self.tokens[self.at - 1] == "fi":
                    break
                if self.tokens[self.at - 1] == "elif":
                    while self.peek() not in (None, "then"):
                        self.take()
                else:
                    self.at -= 1
        elif word == "case":
            while self.take() != "in":
                pass
            while self.peek() not in (None, "esac"):
                while self.take() != ")":
                    pass
                lists.append(self.list([";;", "esac"]))
                if self.tokens[self.at - 1] == "esac":
                    self.at -= 1
            self.take()
        while self.peek() is not None and self.peek() not in (";", ";;", "&", "&&", "||", "|", ")") and (lists or self.peek() not in ends or words):
            words.append(self.take())
        return Command(word if lists else "", words, lists)


def hidden(text):
    """The text with words in place of what is quoted or substituted, so that only the shell's own signs are left."""
    text = OPAQUE.sub("q", text)
    while (start := text.find("$(")) >= 0:
        end, depth = start + 1, 0
        while end < len(text):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
            if not depth:
                break
        text = text[:start] + "q" + text[end:]
    return text


def simple(pipe):
    """The words of a pipe that is one plain command; none for others."""
    return pipe[0].words if len(pipe) == 1 and not pipe[0].lists else []


def leaves(joint, pipe):
    """Does the pipe behind a joint end the script with a failure: `exit 1`, braces with it at their end, or `|| false`?"""
    if len(pipe) == 1 and pipe[0].kind in ("{", "("):
        return bool(pipe[0].lists[0]) and leaves(joint, pipe[0].lists[0][-1][0][-1])
    words = simple(pipe)
    return words[:1] == ["exit"] and words != ["exit", "0"] or (joint == "||" and words == ["false"])


def in_list(items, last, blind):
    """What can fail unseen in a list. last: its last item's status is looked at. blind: `set -e` has no effect in it."""
    for i, (pipes, joints) in enumerate(items):
        tail = last and i == len(items) - 1
        why = in_item(pipes, joints, tail, blind)
        if why:
            return why
    return None


def in_item(pipes, joints, tail, blind):
    guarded = bool(joints) and leaves(joints[-1], pipes[-1])
    for i, pipe in enumerate(pipes):
        words = simple(pipe)
        if words[:1] == ["!"]:
            return "bash lets `! command` pass whatever it does: write `not command`"
        if i and joints[i - 1] == "||" and words and words[0] in ("true", ":"):
            return "`|| true` hides a failure: write `r=0; command || r=$?; test $r = 2`"
        if words[:2] == ["set", "-e"]:
            return "`set -e` is on already"
        for command in pipe:
            own = len(pipe) > 1 or command.kind == "("   # a shell of its own: its end is its status
            inner = blind or i < len(joints)
            ends = command.kind not in ("for", "while", "until") and (own or (i == len(pipes) - 1 and tail) or (i < len(joints) and (guarded or tail)))
            for items in command.lists:
                why = in_list(items, ends, inner)
                if why:
                    return why
    if guarded or tail:
        return None
    if "&&" in joints:
        return "`a && b; c` goes on where a fails: write `a; b; c`, or an `if`"
    if blind and not joints and not all(c.lists for c in pipes[0]) and not HARMLESS.match((simple(pipes[0]) or ["?"])[0]):
        return "`{ a; b; } && c` goes on where a fails, and so does a loop before `&&` or `||`: write `;`, or `a || exit 1` within"
    return None


def loose(line):
    """What lets a command of the RUN line fail unseen, in words; None if nothing does."""
    return in_list(Parser(line).list([]), True, False)
