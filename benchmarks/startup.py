"""CPU time of a command beside `python -c pass`, best of ten: `python -m benchmarks.startup [TRANSCRIPTS]`."""

import os
import resource
import subprocess
import sys
import tempfile

BEST_OF = 10
COMMANDS = (["--version"], ["--help"], ["score", "--help"])


def best_cpu_s(words: list[str], env: dict[str, str]) -> float:
    """The least CPU time of several runs, children included."""
    took = []
    for _ in range(BEST_OF):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *words], env=env, stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(took)


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        env = os.environ | {"HOME": home, "ASSAY_STORE": f"{home}/startup.db"}
        env.pop("PYTHONDONTWRITEBYTECODE", None)  # as it is where the package was installed: compiled once
        nothing = best_cpu_s(["-c", "pass"], env)
        commands = list(COMMANDS)
        if sys.argv[1:]:
            commands += [["streams", sys.argv[1]], ["score", "--json", sys.argv[1]]]
            subprocess.run(
                [sys.executable, "-m", "assay", "score", sys.argv[1]], env=env, check=True, capture_output=True
            )
        print("| command | CPU seconds over `python -c pass` |\n| --- | --- |")
        for words in commands:
            print(f"| `assay {' '.join(words[:2])}` | {best_cpu_s(['-m', 'assay', *words], env) - nothing:.3f} |")


if __name__ == "__main__":
    main()
