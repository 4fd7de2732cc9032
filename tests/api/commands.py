"""Programs that a test runs."""
import subprocess


def run(*words, **options):
    """Runs a program that must succeed; its output."""
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout
